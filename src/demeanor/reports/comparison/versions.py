"""One model of each subject per side: runs with an earlier model are left out, because a mean over two is the rate of
neither. Another prompt or agent is what a comparison of nights is about, and is noted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

from demeanor.core.text.wording import count
from demeanor.core.values.history import RunCell
from demeanor.decide.nights import since_new_model
from demeanor.render import SUBJECT_MARK
from demeanor.reports.comparison.report import Side


def latest_versions(base: Side, new: Side) -> tuple[Side, Side, tuple[str, ...]]:
    """Both sides without the results before their subjects' models last changed; and a note for each of these."""
    base, before = _latest(base, "base")
    new, after = _latest(new, "new side")
    return base, new, (*before, *after)


def _latest(side: Side, which: Literal["base", "new side"]) -> tuple[Side, tuple[str, ...]]:
    groups: dict[tuple[str, str], list[RunCell]] = {}
    for cell in side.cells:
        groups.setdefault((cell.eval, cell.subject), []).append(cell)
    kept = {id(cell) for cells in groups.values() for cell in since_new_model(cells)}
    left_out = [cell for cell in side.cells if id(cell) not in kept]
    if not left_out:
        return side, ()
    cells = tuple(cell for cell in side.cells if id(cell) in kept)
    used = {cell.run for cell in cells}
    runs = tuple(run for run in side.runs if run in used)
    return replace(side, cells=cells, runs=runs), tuple(_notes(left_out, which))


def _notes(left_out: list[RunCell], which: str) -> Iterator[str]:
    for subject in dict.fromkeys(cell.subject for cell in left_out):
        runs = list(dict.fromkeys(cell.run for cell in left_out if cell.subject == subject))
        yield (
            f"{SUBJECT_MARK} the model of {subject} changed after {runs[-1]}: "
            f"{count(len(runs), 'earlier run')} of the {which} "
            f"{'is' if len(runs) == 1 else 'are'} left out"
        )
