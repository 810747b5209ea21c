"""Runs, their cells and their attempts into the history: all of a batch or nothing, and the same thing only once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from demeanor.core.policy import Policy
from demeanor.core.record import Record, RunInfo
from demeanor.core.trial import Plan
from demeanor.store.history import rows
from demeanor.store.history.database import Database, Row, marks, pieces
from demeanor.store.history.tallies import read_tallies, write_tallies


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedCell:
    """A cell of a plan, as far as the history is interested."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy = Policy.USUALLY_PASSES
    """The eval's policy."""

    planned: int = 0
    """Trials."""

    skipped: str | None = None
    """Why nothing is tried, if so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenRecord:
    """An attempt, with what its exchanges used."""

    record: Record
    """The attempt."""

    usages: tuple[Row, ...] = ()
    """One row per exchange; see `rows.usage`."""


def planned_cells(plan: Plan) -> tuple[PlannedCell, ...]:
    """The cells of a plan."""
    return tuple(
        PlannedCell(
            eval=cell.eval.name,
            subject=str(cell.subject),
            policy=cell.eval.policy,
            planned=len(cell.trials),
            skipped=cell.skipped,
        )
        for cell in plan.cells
    )


class RunWriter:
    """Writes one run."""

    def __init__(self, database: Database, run: RunInfo, *, origin: str = "demeanor", source: str = "") -> None:
        self.name = run.id
        self._database = database
        self._run = run
        self._origin = origin
        self._source = source
        self._id: int | None = None
        self._cells: dict[tuple[str, str], int] = {}

    def write(self, cells: Iterable[PlannedCell], kept: Sequence[WrittenRecord]) -> int:
        """Write cells and attempts in one transaction; how many attempts were not there before."""
        known = dict(self._cells)
        try:
            with self._database.writing():
                self._begin()
                self._add_cells([*cells, *_implied(kept)])
                return self._add_attempts(kept)
        except BaseException:
            self._cells, self._id = known, None
            raise

    def _begin(self) -> None:
        """The run's row: found, or made."""
        if self._id is not None:
            return
        uid = rows.uid_of(self._run)
        for name in (self._run.id, f"{self._run.id}-{uid[:6]}", f"{self._run.id}-{uid}"):
            found = self._database.rows("SELECT id, name FROM runs WHERE uid = ?", (uid,))
            if found:
                ((self._id, self.name),) = found
                break
            row = rows.run_row(self._run, name, origin=self._origin, source=self._source)
            self._database.rows(
                f"INSERT INTO runs ({rows.RUN_COLUMNS}) VALUES ({marks(len(row))}) ON CONFLICT DO NOTHING", row
            )
        else:
            ((self._id, self.name),) = self._database.rows("SELECT id, name FROM runs WHERE uid = ?", (uid,))

    def _add_cells(self, cells: Iterable[PlannedCell]) -> None:
        new: dict[tuple[str, str], PlannedCell] = {}
        for cell in cells:
            key = (rows.clean(cell.eval), rows.clean(cell.subject))
            if key not in self._cells:
                new.setdefault(key, cell)
        if not new:
            return
        self._database.many(
            "INSERT INTO cells (run_id, eval, subject, policy, planned, skipped) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            [
                (
                    self._id,
                    *key,
                    cell.policy.value,
                    cell.planned,
                    None if cell.skipped is None else rows.clean(cell.skipped),
                )
                for key, cell in new.items()
            ],
        )
        self._database.rows(
            "INSERT INTO tallies (cell_id) SELECT id FROM cells WHERE run_id = ? ON CONFLICT DO NOTHING", (self._id,)
        )
        found = self._database.rows("SELECT id, eval, subject FROM cells WHERE run_id = ?", (self._id,))
        self._cells = {(name, subject): number for number, name, subject in found}

    def _add_attempts(self, kept: Sequence[WrittenRecord]) -> int:
        uid = rows.uid_of(self._run)
        made = {}
        for one in kept:
            record = one.record
            row = rows.attempt_row(record, self._cells[rows.clean(record.eval), rows.clean(record.subject)], uid)
            made[row[:3]] = (row, one)
        for cells in pieces(sorted({key[0] for key in made})):
            made = self._count(cells, made)
        self._database.append("attempts", [row for row, _ in made.values()])
        findings = ((rows.finding_rows(one.record.verdict.findings, key)) for key, (_, one) in made.items())
        self._database.append("findings", [row for found in findings for row in found])
        self._database.append("usages", [(*key, *row) for key, (_, one) in made.items() for row in one.usages])
        return len(made)

    def _count(
        self, cells: Sequence[int], made: dict[Row, tuple[Row, WrittenRecord]]
    ) -> dict[Row, tuple[Row, WrittenRecord]]:
        """Count the attempts of some cells that were not there before, and leave out those that were."""
        known = {tally.cell_id: tally for tally in read_tallies(self._database, cells)}
        trials = sorted({key[:2] for key in made if key[0] in known})
        there: list[Row] = []
        for some in pieces(trials):
            there += self._database.rows(attempts_at(len(some)), [number for pair in some for number in pair])
        old = {tuple(row[:3]) for row in there}
        made = {key: found for key, found in made.items() if key not in old}
        new = [row for row, _ in made.values() if row[0] in known]
        changed = [
            known[cell].plus(
                before=[row for row in there if row[0] == cell], new=[row for row in new if row[0] == cell]
            )
            for cell in sorted({row[0] for row in new})
        ]
        write_tallies(self._database, changed)
        return made


def attempts_at(trials: int) -> str:
    """A query for the attempts at some trials: a join, since SQLite would read the whole table for `(a, b) IN (…)`."""
    pairs = ", ".join(["(?, ?)"] * trials)
    return (
        f"WITH wanted (cell, trial) AS (VALUES {pairs}) SELECT {rows.ATTEMPT_COLUMNS}"
        " FROM wanted CROSS JOIN attempts WHERE cell_id = cell AND number = trial"
    )


def _implied(kept: Iterable[WrittenRecord]) -> Iterable[PlannedCell]:
    """Cells that nobody planned, but of which there are attempts."""
    return (PlannedCell(eval=k.record.eval, subject=k.record.subject, policy=k.record.policy) for k in kept)
