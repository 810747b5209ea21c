"""How one eval went over time, as a value: every run, the stretches that are of one thing, and the change points."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from demeanor.commands.report.report import Mark, NightCell
from demeanor.commands.report.rows import estimate, night_cells
from demeanor.core.history import PastRun, RunCell
from demeanor.core.policy import Policy
from demeanor.core.run_diff import RateHistory
from demeanor.core.tally import Estimate
from demeanor.render.documents import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class PastCell:
    """One run of it."""

    run: str
    """The run's name."""

    started: str
    """When it began: ISO 8601, UTC."""

    commit: str | None
    """The commit it ran at."""

    cell: NightCell
    """What came of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """Runs in a row in which neither the subject nor the eval changed: only these are put into one rate."""

    first: str
    """Its first run."""

    last: str
    """Its last run."""

    runs: int
    """How many of its runs have judged trials."""

    passed: int
    """Trials that passed."""

    judged: int
    """Trials that count."""

    rate: Estimate | None
    """The rate; None where nothing was judged."""

    mark: Mark | None
    """What changed at its beginning; None for the first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectHistory:
    """One subject at it."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's latest policy."""

    past: tuple[PastCell, ...]
    """Every run, the oldest first."""

    stretches: tuple[Segment, ...]
    """The runs, divided wherever the subject or the eval changed."""

    course: RateHistory
    """The change points, and how often there is one that is none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalHistory:
    """One eval over time."""

    eval: str
    """The eval's name."""

    kind: str
    """Which runs: nightly, ci, local or all."""

    subjects: tuple[SubjectHistory, ...]
    """One per subject."""


HISTORY_DOCUMENT = Document("history", EvalHistory)
"""The JSON document of this report."""


def eval_course(
    name: str,
    cells: Iterable[RunCell],
    *,
    kind: str,
    course_of: Callable[[Sequence[RunCell]], RateHistory],
    runs: Sequence[PastRun] = (),
) -> EvalHistory:
    """One eval over time, from all its cells, the oldest first; `runs` are those that should have had it."""
    by_subject: dict[str, list[RunCell]] = {}
    for cell in cells:
        by_subject.setdefault(cell.subject, []).append(cell)
    found = tuple(_subject(subject, own, course_of(own), runs) for subject, own in by_subject.items())
    return EvalHistory(eval=name, kind=kind, subjects=found)


def _subject(subject: str, cells: Sequence[RunCell], course: RateHistory, runs: Sequence[PastRun]) -> SubjectHistory:
    own = {cell.run: cell for cell in cells}
    facts = {cell.run: (cell.started, cell.commit) for cell in cells}
    facts |= {run.name: (run.info.started, run.info.commit) for run in runs if run.info.started > cells[0].started}
    order = sorted(facts, key=lambda run: (facts[run][0], run))
    told = night_cells(own, order, course.changes)
    past = tuple(
        PastCell(run=run, started=facts[run][0], commit=facts[run][1], cell=shown)
        for run, shown in zip(order, told, strict=True)
    )
    return SubjectHistory(
        subject=subject,
        policy=cells[-1].policy,
        past=past,
        stretches=tuple(_stretch(own, first=index == 0) for index, own in enumerate(_divided(past))),
        course=course,
    )


def _divided(past: Sequence[PastCell]) -> list[list[PastCell]]:
    """A run in which two things were mixed stands for itself."""
    parts: list[list[PastCell]] = []
    for index, one in enumerate(past):
        alone = one.cell.mixed or (index > 0 and past[index - 1].cell.mixed)
        if not parts or one.cell.marks or alone:
            parts.append([])
        parts[-1].append(one)
    return parts


def _stretch(own: Sequence[PastCell], *, first: bool) -> Segment:
    passed, judged = sum(one.cell.passed for one in own), sum(one.cell.judged for one in own)
    mark: Mark = "eval" if own[0].cell.marks == ("eval",) else "subject"
    return Segment(
        first=own[0].run,
        last=own[-1].run,
        runs=sum(one.cell.judged > 0 for one in own),
        passed=passed,
        judged=judged,
        rate=estimate(passed, judged) if judged else None,
        mark=None if first else mark,
    )
