"""Writes runs, cells and attempts to the history. A batch is one transaction; duplicates are ignored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from math import fsum
from typing import TYPE_CHECKING, Any

from demeanor.core.values.errors import StoreError
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, RunInfo
from demeanor.store.history import rows
from demeanor.store.history.database import Database, Row, batches, marks
from demeanor.store.history.rows import ATTEMPT_COLUMNS

if TYPE_CHECKING:
    from demeanor.core.values.trial import Plan


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedCell:
    """A planned cell, as the history stores it."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy = Policy.USUALLY_PASSES
    """The eval's policy."""

    planned: int = 0
    """The number of planned trials."""

    skipped: str | None = None
    """Why the cell is skipped; None if it is not."""

    layer: int = 2
    """The layer of the test pyramid: 3 for a whole task, otherwise 2."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenRecord:
    """An attempt, with the token usage of its exchanges."""

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
            layer=cell.layer,
        )
        for cell in plan.cells
    )


class RunWriter:
    """Writes one run."""

    def __init__(self, database: Database, run: RunInfo, *, origin: str = "demeanor", source: str = "") -> None:
        self._database = database
        self._run = run
        self._origin = origin
        self._source = source
        self._id: int | None = None
        self._cells: dict[tuple[str, str], int] = {}

    def write(self, cells: Iterable[PlannedCell], attempts: Sequence[WrittenRecord]) -> int:
        """Write cells and attempts in one transaction; returns the number of new attempts."""
        cells_before = dict(self._cells)
        try:
            with self._database.writing():
                self._find_or_add_run()
                planned = self._add_cells([*cells, *_implied(attempts)])
                added = self._add_attempts(attempts)
                if planned or added:
                    self._count_write()
                return added
        except BaseException:
            self._cells, self._id = cells_before, None
            raise

    def _find_or_add_run(self) -> None:
        """Set `_id`; insert the row of the run if it has none. Raises StoreError if another run has its name."""
        if self._id is not None:
            return
        row = rows.run_row(self._run, origin=self._origin, source=self._source)
        self._database.rows(
            f"INSERT INTO runs ({rows.RUN_COLUMNS}) VALUES ({marks(len(row))}) ON CONFLICT DO NOTHING", row
        )
        run_rows = self._database.rows("SELECT id FROM runs WHERE uid = ?", (rows.uid_of(self._run),))
        if not run_rows:
            ((source,),) = self._database.rows("SELECT source FROM runs WHERE name = ?", (rows.clean(self._run.id),))
            raise StoreError(
                f"{self._database.label}: another run is called {self._run.id!r}; it came from {source}\n"
                "  → rename this run: its folder, and `id` in its run.json"
            )
        ((self._id,),) = run_rows

    def _count_write(self) -> None:
        """Record that the run has changed, for everything that is derived from it."""
        self._database.rows(
            "INSERT INTO run_states (run_id, cells, writes) VALUES (?, ?, 1) ON CONFLICT (run_id) DO UPDATE SET"
            " writes = run_states.writes + 1,"
            " cells = CASE WHEN excluded.cells > run_states.cells THEN excluded.cells ELSE run_states.cells END",
            (self._id, len(self._cells)),
        )

    def _add_cells(self, cells: Iterable[PlannedCell]) -> bool:
        """Insert the cells that the run does not have yet; whether there may be any."""
        new: dict[tuple[str, str], PlannedCell] = {}
        for cell in cells:
            key = (rows.clean(cell.eval), rows.clean(cell.subject))
            if key not in self._cells:
                new.setdefault(key, cell)
        if not new:
            return False
        self._database.many(
            "INSERT INTO cells (run_id, eval, subject, policy, planned, skipped, layer) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            [
                (
                    self._id,
                    *key,
                    cell.policy.value,
                    cell.planned,
                    None if cell.skipped is None else rows.clean(cell.skipped),
                    cell.layer,
                )
                for key, cell in new.items()
            ],
        )
        self._database.rows(
            "INSERT INTO tallies (cell_id) SELECT id FROM cells WHERE run_id = ? ON CONFLICT DO NOTHING", (self._id,)
        )
        cell_rows = self._database.rows("SELECT id, eval, subject FROM cells WHERE run_id = ?", (self._id,))
        self._cells = {(name, subject): number for number, name, subject in cell_rows}
        return True

    def _add_attempts(self, attempts: Sequence[WrittenRecord]) -> int:
        uid = rows.uid_of(self._run)
        new = {}
        for attempt in attempts:
            record = attempt.record
            row = rows.attempt_row(record, self._cells[rows.clean(record.eval), rows.clean(record.subject)], uid)
            new[row[:3]] = (row, attempt)
        for cells in batches(sorted({key[0] for key in new})):
            new = self._count(cells, new)
        self._database.append("attempts", [row for row, _ in new.values()])
        findings = ((rows.finding_rows(written.record.verdict.findings, key)) for key, (_, written) in new.items())
        self._database.append("findings", [row for finding in findings for row in finding])
        self._database.many(
            "INSERT INTO texts (cell_id, number, digest, body) VALUES (?, ?, ?, ?)",
            [rows.search_row(written.record, key) for key, (_, written) in new.items()],
        )
        self._database.append("usages", [(*key, *row) for key, (_, written) in new.items() for row in written.usages])
        return len(new)

    def _count(
        self, cells: Sequence[int], made: dict[Row, tuple[Row, WrittenRecord]]
    ) -> dict[Row, tuple[Row, WrittenRecord]]:
        """Add the new attempts of some cells to their tallies; returns `made` without existing attempts."""
        tallies = {tally.cell_id: tally for tally in read_tallies(self._database, cells)}
        trials = sorted({key[:2] for key in made if key[0] in tallies})
        existing: list[Row] = []
        for batch in batches(trials):
            existing += self._database.rows(attempts_at(len(batch)), [number for pair in batch for number in pair])
        old = {tuple(row[:3]) for row in existing}
        made = {key: pair for key, pair in made.items() if key not in old}
        new = [row for row, _ in made.values() if row[0] in tallies]
        changed = [
            tallies[cell].plus(
                before=[row for row in existing if row[0] == cell], new=[row for row in new if row[0] == cell]
            )
            for cell in sorted({row[0] for row in new})
        ]
        write_tallies(self._database, changed)
        return made


def attempts_at(trials: int) -> str:
    """A query for the attempts of some trials. A join, because SQLite scans the whole table for `(a, b) IN (…)`."""
    pairs = ", ".join(["(?, ?)"] * trials)
    return (
        f"WITH wanted (cell, trial) AS (VALUES {pairs}) SELECT {rows.ATTEMPT_COLUMNS}"
        " FROM wanted CROSS JOIN attempts WHERE cell_id = cell AND number = trial"
    )


def _implied(attempts: Iterable[WrittenRecord]) -> Iterable[PlannedCell]:
    """The cells of the attempts, in case they were not planned."""
    return (PlannedCell(eval=a.record.eval, subject=a.record.subject, policy=a.record.policy) for a in attempts)


# Tallies of cells, updated as attempts are added, so that a report need not read every attempt.

_ATTEMPT = {name.strip(): place for place, name in enumerate(ATTEMPT_COLUMNS.split(","))}
_SEPARATOR = " + "


@dataclass(frozen=True, kw_only=True, slots=True)
class CellTally:
    """A row of `tallies`; the fields are its columns."""

    cell_id: int
    """The cell."""

    passed: int
    """Trials whose final attempt passed."""

    failed: int
    """Trials that failed."""

    voided: int
    """Trials that were void."""

    attempts: int
    """All attempts."""

    seconds: float
    """Duration of all attempts."""

    turns: int
    """Model answers."""

    input_tokens: int | None
    """Tokens sent, as far as known."""

    output_tokens: int | None
    """Tokens received, as far as known."""

    cost_usd: float | None
    """Money, as far as known."""

    unpriced: int
    """Attempts whose cost is not known."""

    uncounted: int
    """Attempts whose tokens are not known in full."""

    eval_hash: str | None
    """The eval hash of the attempts; several are joined."""

    prompt_hash: str | None
    """The prompt hash of the attempts; several are joined."""

    agent_version: str | None
    """The agent version of the attempts; several are joined."""

    fingerprint: str | None
    """The fingerprint of the attempts; several are joined."""

    model_hash: str | None
    """What answered as model; several are joined."""

    def plus(self, *, before: Sequence[Row], new: Sequence[Row]) -> CellTally:
        """The tally with new attempts. `before`: existing attempts of the same trials. Both are rows of `attempts`."""
        change = _outcomes([*before, *new])
        change.subtract(_outcomes(before))
        return replace(
            self,
            passed=self.passed + change["pass"],
            failed=self.failed + change["fail"],
            voided=self.voided + change["void"],
            attempts=self.attempts + len(new),
            seconds=self.seconds + fsum(_column(new, "seconds")),
            turns=self.turns + sum(_column(new, "turns")),
            input_tokens=_sum(self.input_tokens, _column(new, "input_tokens")),
            output_tokens=_sum(self.output_tokens, _column(new, "output_tokens")),
            cost_usd=_sum(self.cost_usd, _column(new, "cost_usd")),
            unpriced=self.unpriced + sum(cost is None for cost in _column(new, "cost_usd")),
            uncounted=self.uncounted
            + sum(
                None in pair for pair in zip(_column(new, "input_tokens"), _column(new, "output_tokens"), strict=True)
            ),
            eval_hash=_join(self.eval_hash, _column(new, "eval_hash")),
            prompt_hash=_join(self.prompt_hash, _column(new, "prompt_hash")),
            agent_version=_join(self.agent_version, _column(new, "agent_version")),
            fingerprint=_join(self.fingerprint, _column(new, "fingerprint")),
            model_hash=_join(self.model_hash, _column(new, "model_hash")),
        )


_COLUMNS = tuple(field.name for field in fields(CellTally))


def read_tallies(database: Database, cells: Sequence[int]) -> list[CellTally]:
    """Read the tallies of some cells and lock them until the transaction ends.

    They are read in the order of their ids, so that two writers can't deadlock.
    """
    sql = f"SELECT {', '.join(_COLUMNS)} FROM tallies WHERE cell_id IN ({marks(len(cells))}) ORDER BY cell_id"
    return [
        CellTally(**dict(zip(_COLUMNS, row, strict=True))) for row in database.rows(sql + database.for_update, cells)
    ]


def write_tallies(database: Database, tallies: Iterable[CellTally]) -> None:
    """Update tallies that were read before."""
    setting = ", ".join(f"{name} = ?" for name in _COLUMNS[1:])
    values = [(*(getattr(tally, name) for name in _COLUMNS[1:]), tally.cell_id) for tally in tallies]
    if values:
        database.many(f"UPDATE tallies SET {setting} WHERE cell_id = ?", values)


def _column(rows: Iterable[Row], name: str) -> list[Any]:
    return [row[_ATTEMPT[name]] for row in rows]


def _outcomes(attempts: Iterable[Row]) -> Counter[str]:
    """The number of trials by outcome of their final attempt, as in the view `trials`."""
    order = [_ATTEMPT[name] for name in ("final", "ended", "attempt")]
    last: dict[int, Row] = {}
    for row in attempts:
        number = row[_ATTEMPT["number"]]
        if number not in last or [row[i] for i in order] >= [last[number][i] for i in order]:
            last[number] = row
    return Counter(row[_ATTEMPT["verdict"]] for row in last.values())


def _sum(total: float | None, new: Iterable[float | None]) -> Any:
    numbers = [value for value in (total, *new) if value is not None]
    return fsum(numbers) if numbers else None


def _join(joined: str | None, new: Iterable[str | None]) -> str | None:
    """The distinct values, sorted and joined; None if there are none."""
    parts = {value for value in new if value} | set((joined or "").split(_SEPARATOR))
    return _SEPARATOR.join(sorted(parts - {""})) or None
