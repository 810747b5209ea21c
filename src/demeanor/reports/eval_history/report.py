"""The history of one eval, as a value: every run, the segments without a change, and the change points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from demeanor.core.values.history import Night, RunCell
from demeanor.core.values.policy import Policy
from demeanor.core.values.run_diff import RateHistory
from demeanor.core.values.tally import Estimate
from demeanor.decide.nights import rate_histories
from demeanor.render import ReportDocument
from demeanor.reports.night import Mark, NightCell, night_cells
from demeanor.statistics import INDEPENDENT, NightCorrelation, estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class PastCell:
    """One night or run of the eval."""

    run: str
    """The run's name; of a night, that of its last run."""

    started: str
    """When it began: ISO 8601, UTC."""

    commit: str | None
    """The commit it ran at."""

    cell: NightCell
    """Its result."""

    source: str = ""
    """The last run that has its trials."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Segment:
    """Consecutive runs of the same eval and model, combined into one rate."""

    first: str
    """Its first run."""

    last: str
    """Its last run."""

    runs: int
    """The number of runs with judged trials."""

    passed: int
    """Trials that passed."""

    judged: int
    """Trials that passed or failed."""

    rate: Estimate | None
    """The pass rate; None without judged trials."""

    mark: Mark | None
    """What changed at its start; None for the first."""

    mixed: bool = False
    """Whether it combines different versions of the subject."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectHistory:
    """The history of one subject."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's latest policy."""

    past: tuple[PastCell, ...]
    """Every run, oldest first."""

    stretches: tuple[Segment, ...]
    """The runs, divided at each edit of the eval and each change of the model."""

    present: Segment
    """The runs since the rate, the eval or the model last changed."""

    course: RateHistory
    """The change points, and how often to expect a false alarm."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalHistory:
    """The history of one eval."""

    eval: str
    """The eval's name."""

    kind: str
    """Which runs: nightly, ci, local or all."""

    subjects: tuple[SubjectHistory, ...]
    """One per subject."""

    layer: int = 2
    """The layer of the test pyramid: 3 for a whole task, otherwise 2."""

    alike: NightCorrelation = INDEPENDENT
    """The correlation of the trials of a night in the whole suite, which the change points and false alarms assume."""


HISTORY_DOCUMENT = ReportDocument("eval-history", EvalHistory)
"""The JSON document of this report."""


def eval_history(
    name: str,
    cells: Iterable[RunCell],
    *,
    kind: str,
    subject: str | None = None,
    nights: Sequence[Night] = (),
    alike: NightCorrelation = INDEPENDENT,
) -> EvalHistory:
    """The history of one eval, from all its cells, oldest first; a night of `nights` without the eval is a gap.

    With `subject`, only that one is shown; the change points are those of all subjects together all the same.
    """
    by_subject: dict[str, list[RunCell]] = {}
    layer = 2
    for cell in cells:
        layer = cell.layer
        by_subject.setdefault(cell.subject, []).append(cell)
    courses = rate_histories((cell for own in by_subject.values() for cell in own), alike.value)
    subjects = tuple(
        _subject(own_subject, own, nights, courses[own_subject])
        for own_subject, own in by_subject.items()
        if subject in {None, own_subject}
    )
    return EvalHistory(eval=name, kind=kind, subjects=subjects, layer=layer, alike=alike)


def _subject(subject: str, cells: Sequence[RunCell], nights: Sequence[Night], course: RateHistory) -> SubjectHistory:
    own = {cell.run: cell for cell in cells}
    facts = {cell.run: (cell.started, cell.commit) for cell in cells}
    facts |= {
        night.name: (night.info.started, night.info.commit) for night in nights if night.info.started > cells[0].started
    }
    order = sorted(facts, key=lambda run: (facts[run][0], run))
    shown_cells = night_cells(own, order, course.changes)
    past = tuple(
        PastCell(
            run=run,
            started=facts[run][0],
            commit=facts[run][1],
            cell=shown,
            source=own[run].source if run in own else "",
        )
        for run, shown in zip(order, shown_cells, strict=True)
    )
    parts = _divide(past)
    began = course.points[-1].began if course.points else ""
    present = next((parts[-1][index:] for index, cell in enumerate(parts[-1]) if cell.run == began), parts[-1])
    return SubjectHistory(
        subject=subject,
        policy=cells[-1].policy,
        past=past,
        stretches=tuple(_segment(own, first=index == 0) for index, own in enumerate(parts)),
        present=_segment(present, first=True),
        course=course,
    )


def _divide(past: Sequence[PastCell]) -> list[list[PastCell]]:
    parts: list[list[PastCell]] = []
    for cell in past:
        if not parts or cell.cell.restarts:
            parts.append([])
        parts[-1].append(cell)
    return parts


def _segment(own: Sequence[PastCell], *, first: bool) -> Segment:
    passed, judged = sum(cell.cell.passed for cell in own), sum(cell.cell.judged for cell in own)
    mark: Mark = "eval" if "eval" in own[0].cell.marks else "model"
    return Segment(
        first=own[0].run,
        last=own[-1].run,
        runs=sum(cell.cell.judged > 0 for cell in own),
        passed=passed,
        judged=judged,
        rate=estimate(passed, judged) if judged else None,
        mark=None if first else mark,
        mixed=any("subject" in cell.cell.marks for cell in own[1:]) or any(cell.cell.mixed for cell in own),
    )
