"""Queries of the history: runs, cells, trials and decisions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from demeanor.core.values.errors import UnknownName
from demeanor.core.values.exchange import Usage
from demeanor.core.values.history import CapturedTrial, KeptDecision, ModelUse, PastRun, Ruling, RunCell
from demeanor.core.values.record import Record, RunKind
from demeanor.core.values.verdict import Finding
from demeanor.store.history import rows
from demeanor.store.history.database import Database, Row, batches, conditions, limit_clause, marks

LATEST = "latest"
_CELLS = f"SELECT {rows.CELL_COLUMNS} FROM cells c JOIN runs r ON r.id = c.run_id JOIN tallies t ON t.cell_id = c.id"
_DECISIONS = "SELECT digest, made, ruling, eval, subject, answer, rule, reason, run, commit_id, eval_hash, evidence"


class SqlHistory:
    """The history in a database; may be used by several threads."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def runs(
        self,
        *,
        kind: RunKind | None = None,
        branch: str | None = None,
        commit: str | None = None,
        limit: int | None = None,
    ) -> tuple[PastRun, ...]:
        """The runs, newest first; `commit` may be a prefix."""
        prefix = f"substr(commit_id, 1, {len(commit or '')}) = ?"
        where, values = conditions([("kind = ?", kind), ("branch = ?", branch), (prefix, commit)])
        return self._runs(f"{where} ORDER BY started DESC, id DESC{limit_clause(limit)}", values)

    def run(self, name: str = LATEST) -> PastRun:
        """One run by its name, by its uid, or the latest; raises UnknownName."""
        runs = self.runs(limit=1) if name == LATEST else self._runs("name = ? OR uid = ?", (rows.clean(name),) * 2)
        if not runs:
            names = [run for (run,) in self.query("SELECT name FROM runs ORDER BY started DESC LIMIT 1000")]
            raise UnknownName("run", name, names, where=self.database.label)
        return runs[0]

    def cells(self, run: str) -> tuple[RunCell, ...]:
        """The cells of one run, in the order of its plan."""
        return self._cells("r.name = ? ORDER BY c.id", (run,))

    def nightly_cells(
        self,
        last: int | None = 7,
        *,
        evals: Collection[str] = (),
        subjects: Collection[str] = (),
        runs: Collection[str] | None = None,
    ) -> tuple[RunCell, ...]:
        """The cells of the last nightly runs, oldest first; None means all of them. `runs` limits them by name."""
        newest = f"SELECT id, name FROM runs WHERE kind = 'nightly' ORDER BY started DESC, id DESC{limit_clause(last)}"
        where = "c.run_id = ?"
        values: list[str] = []
        for column, names in (("c.eval", evals), ("c.subject", subjects)):
            if names:
                where += f" AND {column} IN ({marks(len(names))})"
                values += names
        # One query per night: sorting all cells in one query is much slower.
        night_rows = reversed(self.query(newest))
        numbers = [number for number, name in night_rows if runs is None or name in runs]
        return tuple(cell for run in numbers for cell in self._cells(f"{where} ORDER BY c.id", (run, *values)))

    def last_run_of(self, subjects: Collection[str]) -> PastRun | None:
        """The newest run with results of all these subjects."""
        cleaned = [rows.clean(subject) for subject in sorted({*subjects})]
        having = "GROUP BY c.run_id HAVING COUNT(DISTINCT c.subject) = ?"
        own = f"SELECT c.run_id FROM cells c WHERE c.subject IN ({marks(len(cleaned))}) AND c.skipped IS NULL {having}"
        past = self._runs(f"id IN ({own}) ORDER BY started DESC, id DESC LIMIT 1", (*cleaned, len(cleaned)))
        return past[0] if past else None

    def eval_history(
        self, name: str, subject: str | None = None, *, kind: RunKind | None = None
    ) -> tuple[RunCell, ...]:
        """The cells of one eval in all runs, oldest first."""
        where, values = conditions([("c.eval = ?", name), ("c.subject = ?", subject), ("r.kind = ?", kind)])
        return self._cells(f"{where} ORDER BY r.started, r.id, c.id", values)

    def records(self, run: str, *, name: str | None = None, subject: str | None = None) -> tuple[Record, ...]:
        """All attempts of one run, in the order in which they ended."""
        return self._records("attempts", _by_end, run, name, subject)

    def trials(self, run: str, *, name: str | None = None, subject: str | None = None) -> tuple[Record, ...]:
        """The attempt that counts of each trial of one run."""
        return self._records("trials", _by_plan, run, name, subject)

    def captured_trials(self, runs: Collection[str], evals: Collection[str]) -> tuple[CapturedTrial, ...]:
        """The trials of these evals in some runs, each with the hash of its capture; those without one are left out."""
        cells = {
            number: (run, name, subject)
            for batch in batches(sorted(rows.clean(name) for name in evals))
            for number, run, name, subject in self.query(
                "SELECT c.id, r.name, c.eval, c.subject FROM cells c JOIN runs r ON r.id = c.run_id"
                f" WHERE r.name IN ({marks(len(runs))}) AND c.eval IN ({marks(len(batch))})",
                (*runs, *batch),
            )
        }
        return tuple(
            CapturedTrial(
                run=cells[cell][0], eval=cells[cell][1], subject=cells[cell][2], capture_hash=capture, outcome=outcome
            )
            for batch in batches(sorted(cells))
            for cell, capture, outcome in self.query(
                f"SELECT cell_id, capture_hash, verdict FROM trials WHERE cell_id IN ({marks(len(batch))})"
                " AND capture_hash <> '' ORDER BY cell_id, number",
                batch,
            )
        )

    def model_uses(self, run: str, name: str, subject: str) -> tuple[ModelUse, ...]:
        """The exchanges of all attempts of one cell, as far as they are known."""
        use_rows = self.query(
            "SELECT u.model, u.input_tokens, u.output_tokens, u.cache_read, u.cache_write, u.reasoning, u.cost_usd"
            " FROM usages u JOIN cells c ON c.id = u.cell_id JOIN runs r ON r.id = c.run_id"
            " WHERE r.name = ? AND c.eval = ? AND c.subject = ? ORDER BY u.number, u.digest, u.exchange",
            (rows.clean(run), rows.clean(name), rows.clean(subject)),
        )
        return tuple(
            ModelUse(
                model=model,
                usage=Usage(input=sent, output=received, cache_read=read, cache_write=written, reasoning=reasoning),
                cost_usd=cost,
            )
            for model, sent, received, read, written, reasoning, cost in use_rows
        )

    def decisions(
        self,
        *,
        ruling: Ruling | None = None,
        name: str | None = None,
        limit: int | None = None,
    ) -> tuple[KeptDecision, ...]:
        """The stored decisions, newest first."""
        where, values = conditions([("ruling = ?", ruling), ("eval = ?", name)])
        sql = f"{_DECISIONS} FROM decisions WHERE {where} ORDER BY made DESC, digest{limit_clause(limit)}"
        decision_rows = self.query(sql, values)
        return tuple(rows.kept_decision(row) for row in decision_rows)

    def last_decisions(self, ruling: Ruling) -> Mapping[str, KeptDecision]:
        """The newest decision about each eval: eval → decision."""
        return {decision.eval: decision for decision in reversed(self.decisions(ruling=ruling))}

    def add_decision(self, decision: KeptDecision) -> None:
        """Store a decision; storing the same one again has no effect."""
        row = rows.decision_row(decision)
        with self.writing():
            self.database.rows(f"INSERT INTO decisions VALUES ({marks(len(row))}) ON CONFLICT DO NOTHING", row)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction that writes."""
        with self._lock, self.database.writing():
            yield

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        """The rows that a query returns."""
        with self._lock:
            return self.database.rows(sql, values)

    def matching(self, words: Sequence[str], limit: int) -> list[int]:
        """The newest searchable texts that contain all words, or else the last as the beginning of one: their ids."""
        with self._lock:  # looking for the beginnings of words takes a hundred times as long
            whole = self.database.matching(words, limit, begins=False)
            return whole or self.database.matching(words, limit, begins=True)

    def _runs(self, where: str, values: Sequence[Any]) -> tuple[PastRun, ...]:
        count = "COALESCE((SELECT cells FROM run_states WHERE run_id = runs.id), 0)"
        run_rows = self.query(f"SELECT {rows.RUN_COLUMNS}, {count} FROM runs WHERE {where}", values)
        return tuple(rows.past_run(row) for row in run_rows)

    def _cells(self, where: str, values: Sequence[Any]) -> tuple[RunCell, ...]:
        return tuple(rows.run_cell(row) for row in self.query(f"{_CELLS} WHERE {where}", values))

    def _records(
        self, table: str, order: Callable[[Row], Any], run: str, name: str | None, subject: str | None
    ) -> tuple[Record, ...]:
        where, values = conditions([("r.name = ?", run), ("c.eval = ?", name), ("c.subject = ?", subject)])
        own = self.query(
            f"SELECT c.id, c.eval, c.subject, c.policy FROM cells c JOIN runs r ON r.id = c.run_id WHERE {where}",
            values,
        )
        cells: dict[int, Row] = {number: tuple(rest) for number, *rest in own}
        columns = ", ".join(f"a.{column.strip()}" for column in rows.ATTEMPT_COLUMNS.split(","))
        # By the ids of the cells: with a subquery SQLite would rank the whole table of attempts first.
        attempts = [
            (*cells[row[0]], *row)
            for batch in batches(sorted(cells))
            for row in self.query(f"SELECT {columns} FROM {table} a WHERE cell_id IN ({marks(len(batch))})", batch)
        ]
        findings: dict[Row, list[Finding]] = {}
        for batch in batches(sorted(cells)):
            for *key, check, answer, reason in self.query(
                "SELECT cell_id, number, digest, name, answer, reason FROM findings"
                f" WHERE cell_id IN ({marks(len(batch))}) ORDER BY cell_id, number, digest, position",
                batch,
            ):
                findings.setdefault(tuple(key), []).append(Finding(check=check, answer=answer, reason=reason))
        attempts.sort(key=order)
        return tuple(rows.record_of(row, tuple(findings.get(tuple(row[3:6]), ()))) for row in attempts)


def _by_end(row: Row) -> tuple[Any, ...]:
    """Sort by end, then by cell, trial and attempt; the row is an argument of `rows.record_of`."""
    cell, number, _, attempt = row[3:7]
    return row[11], cell, number, attempt


def _by_plan(row: Row) -> tuple[Any, ...]:
    return row[3], row[4]
