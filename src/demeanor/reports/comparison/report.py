"""The report of a comparison, as a value that all formats are rendered from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import Policy
from demeanor.decide.comparison import MARGIN, CompareOutcome, Comparison, EvalComparison, compare
from demeanor.render import ReportDocument
from demeanor.reports.comparison.phrases import summary
from demeanor.statistics import SampleSize


def make_comparison(
    base: Side,
    new: Side,
    *,
    again: tuple[Side, Side] | None = None,
    margin: float = MARGIN,
    correlation: float = 0.0,
    notes: tuple[str, ...] = (),
) -> CompareReport:
    """Compare two sides; `again` are the runs of a second look. Sides of other times have this correlation."""
    if again is None:
        comparison = compare(base.cells, new.cells, margin=margin, correlation=correlation)
        return compare_report(base, new, comparison, notes=notes)
    comparison = compare(base.cells, new.cells, again=(again[0].cells, again[1].cells), margin=margin)
    base, new = (replace(side, runs=(*side.runs, *more.runs)) for side, more in zip((base, new), again, strict=True))
    return compare_report(base, new, comparison, notes=notes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One side of a comparison, with its results."""

    name: str
    """The name of the run; of another side, as given by the user."""

    kind: str
    """`run`, `nights`, `subject`, `branch` or `commit`."""

    runs: tuple[str, ...]
    """Its runs, oldest first."""

    commit: str | None = None
    """The commit, if all its runs have the same."""

    cells: tuple[RunCell, ...] = ()
    """The results of these runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SideNote:
    """One side of a comparison, without its results."""

    name: str
    """The name of the run; of another side, as given by the user."""

    kind: str
    """`run`, `nights`, `subject`, `branch` or `commit`."""

    runs: tuple[str, ...]
    """Its runs, oldest first."""

    commit: str | None
    """The commit, if all its runs have the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompareReport:
    """Is the new side worse than the base?"""

    base: SideNote
    """The base."""

    new: SideNote
    """The new side."""

    comparison: Comparison
    """The differences."""

    summary: str
    """The answer in one sentence, with the size of a drop that could be hidden."""

    counts: Mapping[str, int]
    """Outcome → number of evals, without USUALLY_FAILS."""

    known_bad: Mapping[str, int]
    """Outcome → number of USUALLY_FAILS evals."""

    exit_code: ExitCode
    """Rejected if an eval regressed that is not USUALLY_FAILS, or the mean pass rate fell; accepted only if the mean
    excludes a drop of the margin, nothing is suspicious, and every cell of the base was compared; else undecided.
    """

    notes: tuple[str, ...] = field(default=())
    """Warnings and remarks."""


COMPARE_DOCUMENT = ReportDocument("compare", CompareReport)
"""The JSON document of this report."""


_EXIT_CODES = {
    "worse": ExitCode.REJECTED,
    "not worse": ExitCode.ACCEPTED,
    "undecided": ExitCode.UNDECIDED,
}


def compare_report(base: Side, new: Side, comparison: Comparison, *, notes: tuple[str, ...] = ()) -> CompareReport:
    """Make the report."""
    counts = _counts(comparison.counted)
    known_bad = _counts(cell for cell in comparison.evals if cell.policy is Policy.USUALLY_FAILS)
    return CompareReport(
        base=_note(base),
        new=_note(new),
        comparison=comparison,
        summary=summary(comparison, counts, known_bad),
        counts=counts,
        known_bad=known_bad,
        exit_code=_EXIT_CODES[comparison.answer],
        notes=notes,
    )


def _counts(evals: Iterable[EvalComparison]) -> dict[str, int]:
    counter = Counter(eval_.outcome for eval_ in evals)
    return {outcome.value: counter[outcome] for outcome in CompareOutcome}


def _note(side: Side) -> SideNote:
    return SideNote(name=side.name, kind=side.kind, runs=side.runs, commit=side.commit)


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectableDrop:
    """The smallest drop that a number of trials detects."""

    trials: int
    """The number of trials."""

    each_side: float | None
    """The drop, if each side of a comparison has this many; None if not even a drop to 0 is detected."""

    known_rate: float | None
    """The drop, compared with a rate that is known from many trials; None if not even a drop to 0 is detected."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonPlan:
    """How many trials detect a drop of the pass rate, and the smallest drop that a number of trials detects."""

    base: float
    """The pass rate before the drop."""

    new: float
    """The pass rate after the drop."""

    level: float
    """The accepted rate of false alarms."""

    power: float
    """The required probability of detecting the drop."""

    each_side: int
    """The trials on each side of a comparison."""

    exact: bool
    """Whether that was calculated exactly, rather than by the normal approximation."""

    known_rate: SampleSize | None
    """The trials that are compared with a rate known from many trials; None if 5000 are not enough."""

    drops: tuple[DetectableDrop, ...]
    """The smallest detectable drops."""


PLAN_DOCUMENT = ReportDocument("comparison-plan", ComparisonPlan)
"""The JSON document of a plan."""
