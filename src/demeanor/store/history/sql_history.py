"""The history as reports and decisions ask for it: runs, cells, trials, decisions."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from demeanor.core.errors import UnknownName
from demeanor.core.history import KeptDecision, PastRun, Ruling, RunCell
from demeanor.core.record import Record, RunKind
from demeanor.core.verdict import Finding
from demeanor.store.history import rows
from demeanor.store.history.database import Database, Row, marks, pieces

LATEST = "latest"
_CELLS = f"SELECT {rows.CELL_COLUMNS} FROM cells c JOIN runs r ON r.id = c.run_id JOIN tallies t ON t.cell_id = c.id"
_DECISIONS = "SELECT digest, made, ruling, eval, subject, answer, rule, reason, run, commit_id, eval_hash, evidence"


class SqlHistory:
    """The history in a database of either kind; one thread at a time asks it."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._turn = threading.Lock()

    def runs(
        self,
        *,
        kind: RunKind | None = None,
        branch: str | None = None,
        commit: str | None = None,
        limit: int | None = None,
    ) -> tuple[PastRun, ...]:
        """The runs, newest first; a commit may be given by its beginning."""
        wanted = [("kind = ?", kind), ("branch = ?", branch), ("substr(commit_id, 1, ?) = ?", commit)]
        where = " AND ".join(clause for clause, value in wanted if value is not None) or "1 = 1"
        values: list[Any] = [value for _, value in wanted if value is not None]
        if commit is not None:
            values.insert(-1, len(commit))
        return self._runs(f"{where} ORDER BY started DESC, id DESC{_limit(limit)}", values)

    def run(self, name: str = LATEST) -> PastRun:
        """One run by its name in the store, by its uid, or the latest; raises UnknownName."""
        found = self.runs(limit=1) if name == LATEST else self._runs("name = ? OR uid = ?", (rows.clean(name),) * 2)
        if not found:
            known = [run for (run,) in self._ask("SELECT name FROM runs ORDER BY started DESC LIMIT 1000")]
            raise UnknownName("run", name, known, where=self.database.shown)
        return found[0]

    def cells(self, run: str) -> tuple[RunCell, ...]:
        """What one run found, in the order of its plan."""
        return self._cells("r.name = ? ORDER BY c.id", (run,))

    def nightly_cells(
        self, last: int | None = 7, *, evals: Collection[str] = (), subjects: Collection[str] = ()
    ) -> tuple[RunCell, ...]:
        """What the last nightly runs found, the oldest first; None means all of them."""
        newest = f"SELECT id FROM runs WHERE kind = 'nightly' ORDER BY started DESC, id DESC{_limit(last)}"
        where = "c.run_id = ?"
        values: list[str] = []
        for column, names in (("c.eval", evals), ("c.subject", subjects)):
            if names:
                where += f" AND {column} IN ({marks(len(names))})"
                values += names
        # Night by night: to sort all of them at once takes a database much longer.
        found = reversed(self._ask(newest))
        return tuple(cell for (run,) in found for cell in self._cells(f"{where} ORDER BY c.id", (run, *values)))

    def eval_history(
        self, name: str, subject: str | None = None, *, kind: RunKind | None = None
    ) -> tuple[RunCell, ...]:
        """What every run found of one eval, the oldest first."""
        wanted = [("c.eval = ?", name), ("c.subject = ?", subject), ("r.kind = ?", kind)]
        where = " AND ".join(clause for clause, value in wanted if value is not None)
        values = [value for _, value in wanted if value is not None]
        return self._cells(f"{where} ORDER BY r.started, r.id, c.id", values)

    def records(self, run: str, *, name: str | None = None, subject: str | None = None) -> tuple[Record, ...]:
        """All attempts of one run, in the order in which they ended."""
        return self._records("attempts", _as_they_ended, run, name, subject)

    def trials(self, run: str, *, name: str | None = None, subject: str | None = None) -> tuple[Record, ...]:
        """The attempt that counts of each trial of one run."""
        return self._records("trials", _as_planned, run, name, subject)

    def decisions(
        self,
        *,
        ruling: Ruling | None = None,
        name: str | None = None,
        limit: int | None = None,
    ) -> tuple[KeptDecision, ...]:
        """The decisions that were kept, newest first."""
        wanted = [("ruling = ?", ruling), ("eval = ?", name)]
        where = " AND ".join(clause for clause, value in wanted if value is not None) or "1 = 1"
        sql = f"{_DECISIONS} FROM decisions WHERE {where} ORDER BY made DESC, digest{_limit(limit)}"
        found = self._ask(sql, [value for _, value in wanted if value is not None])
        return tuple(rows.kept_decision(row) for row in found)

    def last_decisions(self, ruling: Ruling) -> Mapping[str, KeptDecision]:
        """By eval: its newest decision of one sort."""
        return {decision.eval: decision for decision in reversed(self.decisions(ruling=ruling))}

    def add_decision(self, decision: KeptDecision) -> None:
        """Keep a decision; the same one twice is kept once."""
        row = rows.decision_row(decision)
        with self._turn, self.database.writing():
            self.database.rows(f"INSERT INTO decisions VALUES ({marks(len(row))}) ON CONFLICT DO NOTHING", row)

    def close(self) -> None:
        """Let go of the database."""
        self.database.close()

    def _ask(self, sql: str, values: Sequence[Any] = ()) -> list[Row]:
        with self._turn:
            return self.database.rows(sql, values)

    def _runs(self, where: str, values: Sequence[Any]) -> tuple[PastRun, ...]:
        count = "(SELECT COUNT(*) FROM cells WHERE run_id = runs.id)"
        found = self._ask(f"SELECT {rows.RUN_COLUMNS}, {count} FROM runs WHERE {where}", values)
        return tuple(rows.past_run(row) for row in found)

    def _cells(self, where: str, values: Sequence[Any]) -> tuple[RunCell, ...]:
        return tuple(rows.run_cell(row) for row in self._ask(f"{_CELLS} WHERE {where}", values))

    def _records(
        self, table: str, order: Callable[[Row], Any], run: str, name: str | None, subject: str | None
    ) -> tuple[Record, ...]:
        where, values = "r.name = ?", [run]
        if name is not None:
            where, values = f"{where} AND c.eval = ?", [*values, name]
        if subject is not None:
            where, values = f"{where} AND c.subject = ?", [*values, subject]
        own = self._ask(
            f"SELECT c.id, c.eval, c.subject, c.policy FROM cells c JOIN runs r ON r.id = c.run_id WHERE {where}",
            values,
        )
        cells: dict[int, Row] = {number: tuple(rest) for number, *rest in own}
        columns = ", ".join(f"a.{column.strip()}" for column in rows.ATTEMPT_COLUMNS.split(","))
        # By the numbers of the cells: with a query in their place SQLite would rank the whole table of attempts first.
        kept = [
            (*cells[row[0]], *row)
            for some in pieces(sorted(cells))
            for row in self._ask(f"SELECT {columns} FROM {table} a WHERE cell_id IN ({marks(len(some))})", some)
        ]
        findings: dict[Row, list[Finding]] = {}
        for some in pieces(sorted(cells)):
            for *key, check, answer, reason in self._ask(
                "SELECT cell_id, number, digest, name, answer, reason FROM findings"
                f" WHERE cell_id IN ({marks(len(some))}) ORDER BY cell_id, number, digest, position",
                some,
            ):
                findings.setdefault(tuple(key), []).append(Finding(check=check, answer=answer, reason=reason))
        kept.sort(key=order)
        return tuple(rows.record_of(row, tuple(findings.get(tuple(row[3:6]), ()))) for row in kept)


def _limit(number: int | None) -> str:
    return "" if number is None else f" LIMIT {int(number)}"


def _as_they_ended(row: Row) -> tuple[Any, ...]:
    """By time, then by cell, trial and attempt; a row is what `rows.record_of` takes."""
    cell, number, _, attempt = row[3:7]
    return row[11], cell, number, attempt


def _as_planned(row: Row) -> tuple[Any, ...]:
    return row[3], row[4]
