"""The report of a comparison, as a value that all formats are rendered from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from demeanor.core.exit_code import ExitCode
from demeanor.core.history import RunCell
from demeanor.core.policy import Policy
from demeanor.render.documents import ReportDocument

Counts = tuple[int, int]
"""Passed and judged trials."""


class CompareOutcome(StrEnum):
    """The result for one eval."""

    REGRESSED = "regressed"
    """It passes less often, significantly."""

    IMPROVED = "improved"
    """It passes more often, significantly."""

    NO_EVIDENCE = "no evidence"
    """No significant difference, with enough trials to detect a drop of 20 points."""

    UNDERPOWERED = "underpowered"
    """No significant difference, but too few trials to detect a drop of 20 points."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalComparison:
    """One eval (with one subject) before and after."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject; `a → b` if two subjects are compared."""

    policy: Policy
    """The policy of the eval, on the new side if it changed."""

    outcome: CompareOutcome
    """The result."""

    base: Counts
    """Passed and judged trials of the base."""

    new: Counts
    """Passed and judged trials of the new side."""

    p_value: float
    """The p-value of the observed difference (Boschloo's test, one-sided)."""

    adjusted: float
    """The p-value, adjusted for the number of evals (Benjamini and Hochberg)."""

    detectable_drop: float | None
    """The smallest drop that these trials detect with a power of 80 %; None if they can't detect even a drop to 0."""

    notes: tuple[str, ...] = ()
    """Remarks, such as several fingerprints on one side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shift:
    """The mean difference between base and new; all evals have the same weight."""

    base: float
    """The mean of the base."""

    new: float
    """The mean of the new side."""

    value: float
    """New minus base."""

    low: float | None
    """The lower end of its confidence interval; None if there are fewer than two evals."""

    high: float | None
    """The upper end of its confidence interval; None if there are fewer than two evals."""

    evals: int
    """The number of evals."""

    level: float = 0.95
    """The confidence level of the interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """The differences between two sets of cells."""

    evals: tuple[EvalComparison, ...]
    """One per eval and subject, regressions first."""

    suite: Shift | None
    """The difference of the suite's mean pass rate, without USUALLY_FAILS; None if no eval can be compared."""

    known_bad: Shift | None
    """The difference of the mean pass rate of USUALLY_FAILS evals; None if there are none."""

    cost_usd: Shift | None
    """Cost per judged trial; None if no eval has a known cost on both sides."""

    tokens: Shift | None
    """Tokens per judged trial."""

    turns: Shift | None
    """Model responses per judged trial."""

    seconds: Shift | None
    """Agent time per judged trial."""

    incomparable: tuple[tuple[str, str], ...] = ()
    """Evals that can't be compared, with the reason."""

    level: float = 0.1
    """The false discovery rate: the share of false alarms among regressed and improved evals together."""

    concern: float = 0.2
    """The size of a drop that a comparison must be able to detect."""

    @property
    def can_tell(self) -> bool:
        """Whether there is an answer: a difference, enough trials of an eval, or a mean that excludes a large drop."""
        counted = [one for one in self.evals if one.policy is not Policy.USUALLY_FAILS]
        if not counted or any(one.outcome is not CompareOutcome.UNDERPOWERED for one in counted):
            return True
        return self.suite is not None and self.suite.low is not None and self.suite.low > -self.concern


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One side of a comparison, with its results."""

    name: str
    """The name of the run; of another side, as given by the user."""

    kind: str
    """`run`, `subject`, `branch` or `commit`."""

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
    """`run`, `subject`, `branch` or `commit`."""

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

    counts: Mapping[str, int]
    """Outcome → number of evals, without USUALLY_FAILS."""

    known_bad: Mapping[str, int]
    """Outcome → number of USUALLY_FAILS evals."""

    exit_code: ExitCode
    """Rejected if an eval regressed that is not USUALLY_FAILS; undecided if no eval can be compared, or none has
    enough trials.
    """

    notes: tuple[str, ...] = field(default=())
    """Warnings and remarks."""


COMPARE_DOCUMENT = ReportDocument("compare", CompareReport)
"""The JSON document of this report."""


def compare_report(base: Side, new: Side, comparison: Comparison, *, notes: tuple[str, ...] = ()) -> CompareReport:
    """Make the report."""
    known_bad = [one for one in comparison.evals if one.policy is Policy.USUALLY_FAILS]
    counts = _counts(one for one in comparison.evals if one.policy is not Policy.USUALLY_FAILS)
    code = ExitCode.REJECTED if counts[CompareOutcome.REGRESSED] else ExitCode.ACCEPTED
    return CompareReport(
        base=_note(base),
        new=_note(new),
        comparison=comparison,
        counts=counts,
        known_bad=_counts(known_bad),
        exit_code=code if comparison.evals and comparison.can_tell else ExitCode.UNDECIDED,
        notes=notes,
    )


def _counts(evals: Iterable[EvalComparison]) -> dict[str, int]:
    found = Counter(one.outcome for one in evals)
    return {outcome.value: found[outcome] for outcome in CompareOutcome}


def _note(side: Side) -> SideNote:
    return SideNote(name=side.name, kind=side.kind, runs=side.runs, commit=side.commit)
