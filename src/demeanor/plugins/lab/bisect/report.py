"""The report of a bisection, as a value that all formats are rendered from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from demeanor.core.values.exit_code import ExitCode
from demeanor.render import ReportDocument
from demeanor.statistics import Tries, jeffreys
from demeanor.vcs import Commit


class BisectOutcome(StrEnum):
    """How a bisection ended."""

    FOUND = "found"
    """A commit is the cause with the required confidence; or several in a row, if some could not be tested."""

    NO_DIFFERENCE = "no difference"
    """The good and the bad end do not differ."""

    UNDECIDED = "undecided"
    """It stopped before it reached the required confidence."""

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command."""
        return {
            BisectOutcome.FOUND: ExitCode.ACCEPTED,
            BisectOutcome.NO_DIFFERENCE: ExitCode.REJECTED,
            BisectOutcome.UNDECIDED: ExitCode.UNDECIDED,
        }[self]


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitFound:
    """The results of one commit."""

    commit: Commit
    """The commit."""

    chance: float
    """The probability that this commit changed the behaviour."""

    passed: int = 0
    """Trials that passed, including reused ones."""

    failed: int = 0
    """Trials that failed, including reused ones."""

    voided: int = 0
    """Void trials."""

    reused: int = 0
    """Judged trials from earlier runs."""

    skipped: str | None = None
    """Why it can't be tested; None if it can."""

    run: str | None = None
    """The run that contains its trials."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateFound:
    """The pass rate on one side of the change."""

    passed: int
    """Trials that passed."""

    judged: int
    """Trials that passed or failed."""

    low: float | None
    """The lower end of the 95 % interval (Jeffreys); None without trials."""

    high: float | None
    """Its upper end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectReport:
    """Which commit changed a behaviour, and with what probability."""

    eval: str
    """The eval."""

    subject: str
    """The subject, as `agent:model`."""

    good: str
    """The good end, as given by the user."""

    bad: str
    """The bad end, as given by the user."""

    outcome: BisectOutcome
    """The result."""

    exit_code: ExitCode
    """The exit code of the command."""

    asked_confidence: float
    """The required confidence."""

    confidence: float
    """The probability that one of the suspects is the change."""

    no_difference: float
    """The probability that the ends do not differ."""

    suspects: tuple[CommitFound, ...]
    """The most likely commit, with neighbours that can't be distinguished from it because they could not be tested."""

    credible: tuple[str, ...]
    """The smallest set of commits that reaches the required confidence: hashes, most likely first."""

    before: RateFound
    """All trials of commits before the suspects."""

    after: RateFound
    """All trials of commits from the last suspect on."""

    commits: tuple[CommitFound, ...]
    """All commits, the good end first."""

    trials: int
    """Judged trials of this bisection."""

    voided: int
    """Void trials of this bisection."""

    reused: int
    """Reused trials of earlier runs."""

    built: int
    """Commits that were built."""

    cost_usd: float | None
    """The cost of the trials of this bisection, as far as known."""

    notes: tuple[str, ...] = ()
    """Warnings and remarks."""

    @property
    def good_end(self) -> CommitFound:
        """The good end."""
        return self.commits[0]

    @property
    def bad_end(self) -> CommitFound:
        """The bad end."""
        return self.commits[-1]


BISECT_DOCUMENT = ReportDocument("bisect", BisectReport)
"""The JSON document of this report."""


def rate_found(tries: Tries) -> RateFound:
    """A rate with its interval."""
    if not tries.judged:
        return RateFound(passed=0, judged=0, low=None, high=None)
    low, high = jeffreys(tries.passed, tries.judged)
    return RateFound(passed=tries.passed, judged=tries.judged, low=low, high=high)
