"""The history as reports and decisions ask for it: runs, cells, trials, decisions."""

from __future__ import annotations

import threading
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from holdfast.core.errors import UnknownName
from holdfast.core.history import KeptDecision, PastRun, Ruling, RunCell
from holdfast.core.record import Record, RunKind
from holdfast.core.verdict import Finding
from holdfast.store.history import rows
from holdfast.store.history.database import Database, Row, marks

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

    def nights(
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
        return self._records("attempts", "a.ended, c.id, a.number, a.attempt", run, name, subject)

    def trials(self, run: str, *, name: str | None = None, subject: str | None = None) -> tuple[Record, ...]:
        """The attempt that counts of each trial of one run."""
        return self._records("trials", "c.id, a.number", run, name, subject)

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

    def keep_decision(self, decision: KeptDecision) -> None:
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

    def _records(self, table: str, order: str, run: str, name: str | None, subject: str | None) -> tuple[Record, ...]:
        where, values = "r.name = ?", [run]
        if name is not None:
            where, values = f"{where} AND c.eval = ?", [*values, name]
        if subject is not None:
            where, values = f"{where} AND c.subject = ?", [*values, subject]
        own = "cells c JOIN runs r ON r.id = c.run_id"
        found = self._ask(
            f"SELECT f.cell_id, f.number, f.digest, f.name, f.answer, f.reason FROM {own}"
            f" JOIN findings f ON f.cell_id = c.id WHERE {where} ORDER BY f.cell_id, f.number, f.digest, f.position",
            values,
        )
        findings: dict[Row, list[Finding]] = {}
        for *key, check, answer, reason in found:
            findings.setdefault(tuple(key), []).append(Finding(check=check, answer=answer, reason=reason))
        columns = ", ".join(f"a.{column.strip()}" for column in rows.ATTEMPT_COLUMNS.split(","))
        # Asked for by cell, or the whole table would be ranked first.
        chosen = f"(SELECT * FROM {table} WHERE cell_id IN (SELECT c.id FROM {own} WHERE {where}))"
        kept = self._ask(
            f"SELECT c.eval, c.subject, c.policy, {columns} FROM {own} JOIN {chosen} a ON a.cell_id = c.id"
            f" WHERE {where} ORDER BY {order}",
            [*values, *values],
        )
        return tuple(rows.record_of(row, tuple(findings.get(tuple(row[3:6]), ()))) for row in kept)


def _limit(number: int | None) -> str:
    return "" if number is None else f" LIMIT {int(number)}"
