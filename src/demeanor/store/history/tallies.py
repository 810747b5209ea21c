"""Cells counted as attempts are added, so that nobody has to go through a million of them to make a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from demeanor.store.history.database import Database, Row, marks
from demeanor.store.history.rows import ATTEMPT_COLUMNS

_ATTEMPT = {name.strip(): place for place, name in enumerate(ATTEMPT_COLUMNS.split(","))}
_BETWEEN = " + "


@dataclass(frozen=True, kw_only=True, slots=True)
class CellTally:
    """A row of `tallies`; the fields are its columns."""

    cell_id: int
    """The cell."""

    passed: int
    """Trials that passed, by the attempt that counts."""

    failed: int
    """Trials that failed."""

    voided: int
    """Trials that were void."""

    attempts: int
    """All attempts."""

    seconds: float
    """Wall time of all attempts."""

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
    """The one that all attempts have, or all of them."""

    prompt_hash: str | None
    """As above."""

    agent_version: str | None
    """As above."""

    fingerprint: str | None
    """As above."""

    def plus(self, *, before: Sequence[Row], new: Sequence[Row]) -> CellTally:
        """The tally with new attempts; `before`: those that there were at the same trials. Rows of `attempts`."""
        change = _outcomes([*before, *new])
        change.subtract(_outcomes(before))
        return replace(
            self,
            passed=self.passed + change["pass"],
            failed=self.failed + change["fail"],
            voided=self.voided + change["void"],
            attempts=self.attempts + len(new),
            seconds=self.seconds + sum(_column(new, "seconds")),
            turns=self.turns + sum(_column(new, "turns")),
            input_tokens=_sum(self.input_tokens, _column(new, "input_tokens")),
            output_tokens=_sum(self.output_tokens, _column(new, "output_tokens")),
            cost_usd=_sum(self.cost_usd, _column(new, "cost_usd")),
            unpriced=self.unpriced + sum(cost is None for cost in _column(new, "cost_usd")),
            uncounted=self.uncounted
            + sum(
                None in pair for pair in zip(_column(new, "input_tokens"), _column(new, "output_tokens"), strict=True)
            ),
            eval_hash=_all_of(self.eval_hash, _column(new, "eval_hash")),
            prompt_hash=_all_of(self.prompt_hash, _column(new, "prompt_hash")),
            agent_version=_all_of(self.agent_version, _column(new, "agent_version")),
            fingerprint=_all_of(self.fingerprint, _column(new, "fingerprint")),
        )


_COLUMNS = tuple(field.name for field in fields(CellTally))


def read_tallies(database: Database, cells: Sequence[int]) -> list[CellTally]:
    """The tallies of some cells, which nobody else changes until the transaction ends.

    In the order of their ids, so that two writers never wait for each other.
    """
    sql = f"SELECT {', '.join(_COLUMNS)} FROM tallies WHERE cell_id IN ({marks(len(cells))}) ORDER BY cell_id"
    return [
        CellTally(**dict(zip(_COLUMNS, row, strict=True))) for row in database.rows(sql + database.for_update, cells)
    ]


def write_tallies(database: Database, tallies: Iterable[CellTally]) -> None:
    """Write tallies that were read before."""
    setting = ", ".join(f"{name} = ?" for name in _COLUMNS[1:])
    values = [(*(getattr(tally, name) for name in _COLUMNS[1:]), tally.cell_id) for tally in tallies]
    if values:
        database.many(f"UPDATE tallies SET {setting} WHERE cell_id = ?", values)


def _column(rows: Iterable[Row], name: str) -> list[Any]:
    return [row[_ATTEMPT[name]] for row in rows]


def _outcomes(attempts: Iterable[Row]) -> Counter[str]:
    """How many trials ended how, by the attempt that counts: as the view `trials` has it."""
    order = [_ATTEMPT[name] for name in ("final", "ended", "attempt")]
    last: dict[int, Row] = {}
    for row in attempts:
        number = row[_ATTEMPT["number"]]
        if number not in last or [row[i] for i in order] >= [last[number][i] for i in order]:
            last[number] = row
    return Counter(row[_ATTEMPT["verdict"]] for row in last.values())


def _sum(known: float | None, new: Iterable[float | None]) -> Any:
    found = [value for value in (known, *new) if value is not None]
    return sum(found) if found else None


def _all_of(known: str | None, new: Iterable[str | None]) -> str | None:
    """The one value, or all of them in order; what nobody said does not count."""
    found = {value for value in new if value} | set((known or "").split(_BETWEEN))
    return _BETWEEN.join(sorted(found - {""})) or None
