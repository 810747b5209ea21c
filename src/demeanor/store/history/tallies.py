"""Tallies of cells, updated as attempts are added, so that a report need not read every attempt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from math import fsum
from typing import Any

from demeanor.store.history.database import Database, Row, marks
from demeanor.store.history.rows import ATTEMPT_COLUMNS

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
