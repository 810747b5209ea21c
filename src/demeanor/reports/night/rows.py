"""The rows of the night report: one eval with one subject, night by night."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from demeanor.core.text.wording import count
from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import Policy
from demeanor.core.values.run_diff import RunDiff
from demeanor.core.values.tally import Decision, Tally
from demeanor.core.values.verdict import VoidCause
from demeanor.decide import decide
from demeanor.reports.night.report import ABSENT, Mark, NightCell, NightRow, NightStep, Together
from demeanor.results import despite_lost
from demeanor.statistics import estimate, newcombe

_MARKS: Mapping[str, Mark] = {
    "eval": "eval",
    "model": "model",
    "agent": "subject",
    "prompt": "subject",
    "files": "subject",
    "subject": "subject",
}
_MIXED = " + "
_ALPHA = 0.05

Needed: TypeAlias = Callable[[Policy, int], int]
"""Policy and planned trials → how many of them must be judged."""


@lru_cache(maxsize=4096)
def _difference(before: tuple[int, int], after: tuple[int, int], changes: int) -> tuple[float, float, float, bool]:
    """The difference with its interval of 95 %, and whether it is significant as one of so many (Bonferroni)."""
    low, high = newcombe(before, after)
    least, most = newcombe(before, after, level=1 - _ALPHA / max(1, changes))
    return after[0] / after[1] - before[0] / before[1], low, high, least > 0 or most < 0


def night_row(
    name: str,
    by_run: Mapping[str, RunCell],
    runs: Sequence[str],
    *,
    seen: Sequence[RunDiff],
    recent: Collection[str] = (),
    changes: int = 1,
    needed: Needed | None = None,
    void_causes: Mapping[VoidCause, int] | None = None,
    lost: Sequence[str] = (),
) -> NightRow:
    """One row, from its cells by night, the shown nights in order, and what differs between them. `recent` are the
    nights whose cells this one must have; `changes` says how many rows of the report have a change of the rate; `lost`
    are the shards that this night lacks."""
    cells = night_cells(by_run, runs, seen)
    tonight = by_run.get(runs[-1])
    tally = despite_lost(tally_of(tonight, needed), lost) if tonight is not None else None
    if tally is not None and void_causes:
        tally = replace(tally, void_causes=void_causes)
    latest = max(by_run.values(), key=lambda cell: (cell.started, cell.run))
    return NightRow(
        eval=name,
        policy=latest.policy,
        cells=cells,
        tally=tally,
        decision=decide(tally) if tally is not None else _untried(by_run, recent, latest.policy),
        change=_step(cells, runs, changes),
        together=_together(cells),
        layer=latest.layer,
        run=tonight.source if tonight is not None else "",
    )


def _untried(by_run: Mapping[str, RunCell], recent: Collection[str], policy: Policy) -> Decision | None:
    """The decision on a cell that no run of this night tried: undecided if the nights before judged it."""
    judged = sum(cell.judged > 0 for run, cell in by_run.items() if run in recent)
    if not judged or policy is Policy.USUALLY_FAILS:
        return None
    reason = f"no run of this night tried it, but {count(judged, 'night')} of the week before did"
    return Decision(answer="undecided", rule="none", reason=reason)


def night_cells(by_run: Mapping[str, RunCell], runs: Sequence[str], seen: Iterable[RunDiff]) -> tuple[NightCell, ...]:
    """One cell per run, in order, with marks for changes."""
    marks: dict[str, list[Mark]] = {}
    for change in seen:
        mark = _MARKS.get(change.part)
        if mark and mark not in marks.setdefault(change.run, []):
            marks[change.run].append(mark)
    return tuple(_night_cell(by_run[run], marks.get(run, ())) if run in by_run else ABSENT for run in runs)


def tally_of(cell: RunCell, needed: Needed | None = None) -> Tally:
    """The tally of a cell of the history; `needed` says how many trials must be judged."""
    return Tally(
        eval=cell.eval,
        subject=cell.subject,
        policy=cell.policy,
        passed=cell.passed,
        failed=cell.failed,
        voided=cell.voided,
        missing=0 if cell.skipped else cell.missing,
        attempts=cell.attempts,
        needed=needed(cell.policy, cell.planned) if needed is not None and not cell.skipped else None,
        skipped=(cell.skip_reason or "unknown reason") if cell.skipped else None,
        rate=estimate(cell.passed, cell.judged) if cell.judged else None,
        spent=cell.spent,
        unpriced=cell.unpriced,
        uncounted=cell.uncounted,
    )


def _night_cell(cell: RunCell, marks: Sequence[Mark]) -> NightCell:
    if cell.judged:
        mixed = _MIXED in cell.fingerprint or _MIXED in cell.eval_hash
        return _judged_cell(cell.passed, cell.failed, cell.voided, cell.missing, tuple(marks), mixed)
    return NightCell(
        state="skipped" if cell.skipped else "no data",
        voided=cell.voided,
        missing=0 if cell.skipped else cell.missing,
    )


@lru_cache(maxsize=4096)
def _judged_cell(
    passed: int, failed: int, voided: int, missing: int, marks: tuple[Mark, ...], mixed: bool
) -> NightCell:
    """Cached, because the same few counts occur thousands of times."""
    return NightCell(
        state="judged",
        passed=passed,
        failed=failed,
        voided=voided,
        missing=missing,
        rate=estimate(passed, passed + failed),
        marks=marks,
        mixed=mixed,
    )


def _step(cells: Sequence[NightCell], runs: Sequence[str], changes: int) -> NightStep | None:
    """The change since the last night with data."""
    *earlier, tonight = cells
    if not tonight.judged:
        return None
    for run, cell in zip(reversed(runs[:-1]), reversed(earlier), strict=True):
        if cell.judged:
            scores = (cell.passed, cell.judged), (tonight.passed, tonight.judged)
            value, low, high, clear = _difference(*scores, changes)
            alike = not (tonight.marks or tonight.mixed or cell.mixed)
            return NightStep(value=value, low=low, high=high, since=run, alike=alike, clear=clear)
    return None


def _together(cells: Sequence[NightCell]) -> Together:
    """The nights since the eval was edited or the model changed."""
    first = max((index for index, cell in enumerate(cells) if cell.restarts), default=0)
    own = [cell for cell in cells[first:] if cell.judged]
    mark: Mark = "eval" if "eval" in cells[first].marks else "model"
    passed, judged = sum(cell.passed for cell in own), sum(cell.judged for cell in own)
    return Together(
        rate=estimate(passed, judged) if judged else None,
        nights=len(own),
        mark=mark if any(cell.judged for cell in cells[:first]) else None,
        mixed=any(cell.mixed for cell in own) or any("subject" in cell.marks for cell in cells[first + 1 :]),
    )
