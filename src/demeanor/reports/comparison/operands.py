"""Find the two sides of a comparison in the history: runs, stretches of nights, branches, commits or subjects.

A run with uncommitted changes belongs neither to its branch nor to its commit: you can compare it only by its own name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from demeanor.core.text.wording import count
from demeanor.core.trees.git import GitError, commit_of
from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.history import PastRun, RunCell
from demeanor.core.values.ports import History
from demeanor.reports.comparison.report import Side
from demeanor.results import all_nights, find_past_run

NIGHTS = 7
"""The number of runs of a branch, or nights of a subject or stretch."""


def sides_of(
    history: History, base: str, new: str, root: Path, *, last: int | None = None, results: Path | None = None
) -> tuple[Side, Side]:
    """Both sides. With `results`, a run may also be named by its folder, and `latest` is the latest run there.

    Two subjects are compared within the newest run that has both, unless it is a night or `last` is
    given: then within the last nights."""
    together = history.last_run_of((base, new))
    if last is None and base != new and together is not None and together.info.kind != "nightly":
        cells = history.cells(together.name)
        return _subject_in(base, together, cells), _subject_in(new, together, cells)
    nights = last or NIGHTS
    return (
        side_of(history, base, root, nights=nights, results=results),
        side_of(history, new, root, nights=nights, results=results),
    )


def _subject_in(name: str, run: PastRun, cells: Sequence[RunCell]) -> Side:
    own = tuple(cell for cell in cells if cell.subject == name)
    return Side(name=name, kind="subject", runs=(run.name,), commit=run.info.commit, cells=own)


def side_of(history: History, name: str, root: Path, *, nights: int = NIGHTS, results: Path | None = None) -> Side:
    """The side with this name: a run, else a stretch of nights, a subject, a branch or a commit."""
    side = _run(history, name, results) or _stretch(history, name, nights) or _subject(history, name, nights)
    side = side or _branch(history, name, nights) or _commit(history, name, root)
    if side is None:
        raise UsageError(
            f"{name!r} is not a run, stretch of nights, subject, branch or commit in the history\n"
            f"  → to check out and run a commit: demeanor compare --base {name}"
        )
    return side


def _run(history: History, name: str, results: Path | None) -> Side | None:
    try:
        run = history.run(name) if results is None else find_past_run(history, name, results=results)
    except UnknownName:
        return None
    return _sum_up(history, run.name, "run", (run,))


def _stretch(history: History, name: str, nights: int) -> Side | None:
    """`A..B`: the nights from A to B; `..B`: the last ones up to B; `A..`: the first ones from A on. All are on the
    branch of the night that is named."""
    first, dots, last = name.partition("..")
    if not dots or not (first or last):
        return None
    try:
        ends = [history.run(end) for end in (first, last) if end]
    except UnknownName:
        return None
    branch, named = ends[-1].info.branch, {end.name for end in ends}
    every = [night for night in all_nights(history) if night.info.branch == branch]
    chosen = [night for night in every if not night.info.dirty or named & {*night.names}]
    chosen = [night for night in chosen if not first or night.info.started >= ends[0].info.started]
    chosen = [night for night in chosen if not last or night.runs[0].info.started <= ends[-1].info.started]
    if not (first and last):
        chosen = chosen[:nights] if first else chosen[-nights:]
    runs = tuple(run for night in reversed(chosen) for run in reversed(night.runs))
    return _sum_up(history, name, "nights", runs) if runs else None


def _subject(history: History, name: str, nights: int) -> Side | None:
    """Its last nights, or its last run if it has no nights."""
    cells = history.nightly_cells(nights, subjects=(name,))
    if not cells:
        run = history.last_run_of((name,))
        return _subject_in(name, run, history.cells(run.name)) if run else None
    runs = tuple(dict.fromkeys(cell.run for cell in cells))
    return Side(name=name, kind="subject", runs=runs, cells=cells)


def _branch(history: History, name: str, nights: int) -> Side | None:
    runs = tuple(run for run in history.runs(branch=name) if not run.info.dirty)[:nights]
    return _sum_up(history, name, "branch", runs) if runs else None


def _commit(history: History, name: str, root: Path) -> Side | None:
    try:
        commit = commit_of(root, name)
    except GitError:
        commit = name
    if len(commit) < 4:
        return None
    runs = tuple(run for run in history.runs(commit=commit) if not run.info.dirty)
    return _sum_up(history, name, "commit", runs) if runs else None


def _sum_up(history: History, name: str, kind: str, runs: tuple[PastRun, ...]) -> Side:
    cells = tuple(cell for run in reversed(runs) for cell in history.cells(run.name))
    commits = {run.info.commit for run in runs}
    return Side(
        name=name,
        kind=kind,
        runs=tuple(run.name for run in reversed(runs)),
        commit=next(iter(commits)) if len(commits) == 1 else None,
        cells=cells,
    )


def without_shared(base: Side, new: Side) -> tuple[Side, Side, tuple[str, ...]]:
    """Both sides without results that belong to both: these count only for the side with fewer runs. And a note."""
    shared = {_result(cell) for cell in base.cells} & {_result(cell) for cell in new.cells}
    if not shared:
        return base, new, ()
    runs = {run for run, _, _ in shared}
    kept, cut = ("base", new) if len(base.runs) <= len(new.runs) else ("new side", base)
    left = replace(
        cut,
        runs=tuple(run for run in cut.runs if run not in runs),
        cells=tuple(cell for cell in cut.cells if _result(cell) not in shared),
    )
    if not left.runs:
        raise UsageError(f"both sides are the same: {', '.join(sorted(runs))}\n  → name two different sides")
    note = f"{count(len(runs), 'run')} of both sides counted only for the {kept}: {', '.join(sorted(runs))}"
    return (base, left, (note,)) if cut is new else (left, new, (note,))


def _result(cell: RunCell) -> tuple[str, str, str]:
    return cell.run, cell.eval, cell.subject


def chosen_cells(side: Side, *, names: Sequence[str] = (), subjects: Sequence[str] = ()) -> Side:
    """The side, restricted to these evals and subjects; none means all."""
    cells = side.cells
    for name in names:
        if name not in {cell.eval for cell in cells}:
            raise UnknownName("eval", name, {cell.eval for cell in cells}, where=side.name)
    cells = tuple(cell for cell in cells if not names or cell.eval in names)
    return replace(side, cells=tuple(cell for cell in cells if not subjects or cell.subject in subjects))
