"""The cells that the last nights judged: what a gate is expected to judge too."""

from __future__ import annotations

from dataclasses import dataclass

from demeanor.core.values.history import RunCell
from demeanor.core.values.ports import History
from demeanor.results.nights import CountedNights

LAST_NIGHTS = 7
"""How many nights are looked at: one night may lack a cell, and a week is the memory of promotion."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecentCell:
    """An eval with a subject in the last nights."""

    last: RunCell
    """Its cell in the last night that judged it."""

    nights: int
    """The number of the last nights that judged it."""


def recent_cells(history: History, nights: CountedNights) -> dict[tuple[str, str], RecentCell]:
    """By eval and subject: the cells of the last nights with a judged trial."""
    days = nights.days[-LAST_NIGHTS:]
    day_of = {run.name: number for number, runs in enumerate(days) for run in runs}
    last: dict[tuple[str, str], RunCell] = {}
    judged_on: dict[tuple[str, str], set[int]] = {}
    for cell in history.nightly_cells(None, runs=day_of) if day_of else ():
        if cell.judged:
            last[cell.eval, cell.subject] = cell
            judged_on.setdefault((cell.eval, cell.subject), set()).add(day_of[cell.run])
    return {key: RecentCell(last=cell, nights=len(judged_on[key])) for key, cell in last.items()}
