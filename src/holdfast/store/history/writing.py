"""Runs, their cells and their attempts into the history: all of a batch or nothing, and the same thing only once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.core.policy import Policy
from holdfast.core.record import Record, RunInfo
from holdfast.core.trial import Plan
from holdfast.store.history import rows
from holdfast.store.history.database import Database, Row, marks

_AT_ONCE = 500
_COUNT = """
INSERT INTO tallies
SELECT cell_id,
  SUM(CASE WHEN place = 1 AND verdict = 'pass' THEN 1 ELSE 0 END),
  SUM(CASE WHEN place = 1 AND verdict = 'fail' THEN 1 ELSE 0 END),
  SUM(CASE WHEN place = 1 AND verdict = 'void' THEN 1 ELSE 0 END),
  COUNT(*), SUM(seconds), SUM(turns), SUM(input_tokens), SUM(output_tokens), SUM(cost_usd),
  SUM(CASE WHEN cost_usd IS NULL THEN 1 ELSE 0 END),
  SUM(CASE WHEN input_tokens IS NULL OR output_tokens IS NULL THEN 1 ELSE 0 END),
  {columns}
FROM (
  SELECT *, ROW_NUMBER() OVER (PARTITION BY cell_id, number ORDER BY final DESC, ended DESC, attempt DESC) AS place
  FROM attempts WHERE cell_id IN ({cells})
) AS ranked
WHERE 1 = 1 GROUP BY cell_id
ON CONFLICT (cell_id) DO UPDATE SET
  passed = excluded.passed, failed = excluded.failed, voided = excluded.voided, attempts = excluded.attempts,
  seconds = excluded.seconds, turns = excluded.turns, input_tokens = excluded.input_tokens,
  output_tokens = excluded.output_tokens, cost_usd = excluded.cost_usd, unpriced = excluded.unpriced,
  uncounted = excluded.uncounted, eval_hash = excluded.eval_hash, prompt_hash = excluded.prompt_hash,
  agent_version = excluded.agent_version, fingerprint = excluded.fingerprint
"""


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
class Kept:
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

    def __init__(self, database: Database, run: RunInfo, *, origin: str = "holdfast", source: str = "") -> None:
        self.name = run.id
        self._database = database
        self._run = run
        self._origin = origin
        self._source = source
        self._id: int | None = None
        self._cells: dict[tuple[str, str], int] = {}

    def write(self, cells: Iterable[PlannedCell], kept: Sequence[Kept]) -> int:
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

    def _add_attempts(self, kept: Sequence[Kept]) -> int:
        if not kept:
            return 0
        uid = rows.uid_of(self._run)
        made = {}
        for one in kept:
            record = one.record
            row = rows.attempt_row(record, self._cells[rows.clean(record.eval), rows.clean(record.subject)], uid)
            made[row[:2]] = (row, one)
        touched = sorted({cell for cell, _ in made})
        for cells in _pieces(touched):
            self._database.lock_tallies(cells)
            there = self._database.rows(
                f"SELECT cell_id, digest FROM attempts WHERE cell_id IN ({marks(len(cells))})", cells
            )
            for key in there:
                made.pop(tuple(key), None)
        self._insert("attempts", [row for row, _ in made.values()])
        self._insert(
            "findings",
            [one for row, kept in made.values() for one in rows.finding_rows(kept.record.verdict.findings, *row[:2])],
        )
        self._insert("usages", [(*row[:2], *one) for row, kept in made.values() for one in kept.usages])
        for cells in _pieces(sorted({cell for cell, _ in made})):
            self._database.rows(_COUNT.format(cells=marks(len(cells)), columns=_SAME), cells)
        return len(made)

    def _insert(self, table: str, found: Sequence[Row]) -> None:
        if found:
            self._database.many(f"INSERT INTO {table} VALUES ({marks(len(found[0]))})", found)


def _same(column: str) -> str:
    """The one value that a column has, or two of them as `a+b`."""
    return f"CASE WHEN MIN({column}) = MAX({column}) THEN MIN({column}) ELSE MIN({column}) || '+' || MAX({column}) END"


_SAME = ", ".join(_same(column) for column in ("eval_hash", "prompt_hash", "agent_version", "fingerprint"))


def _implied(kept: Iterable[Kept]) -> Iterable[PlannedCell]:
    """Cells that nobody planned, but of which there are attempts."""
    return (PlannedCell(eval=k.record.eval, subject=k.record.subject, policy=k.record.policy) for k in kept)


def _pieces(numbers: Sequence[int]) -> Iterable[Sequence[int]]:
    return (numbers[i : i + _AT_ONCE] for i in range(0, len(numbers), _AT_ONCE))
