"""A bisection as a value: every format is made of it."""

from __future__ import annotations

from dataclasses import dataclass

from demeanor.commands.bisect.values import BisectOutcome, CommitFound, RateFound
from demeanor.core.exit_code import ExitCode
from demeanor.render.documents import Document
from demeanor.statistics.bisection import Tries
from demeanor.statistics.intervals import jeffreys


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectReport:
    """Which commit changed a behaviour, and how sure that is."""

    eval: str
    """The eval."""

    subject: str
    """On whom it was tried."""

    good: str
    """The good end, as it was asked for."""

    bad: str
    """The bad end, as it was asked for."""

    outcome: BisectOutcome
    """How it ended."""

    exit_code: ExitCode
    """What a script is told."""

    asked_confidence: float
    """How sure it was to be."""

    confidence: float
    """How likely it is that one of the suspects is the change."""

    no_difference: float
    """How likely it is that the ends do not differ."""

    suspects: tuple[CommitFound, ...]
    """The likeliest commit; with it those that can't be told from it, since they could not be tried."""

    credible: tuple[str, ...]
    """The fewest commits that together are as likely as was asked for, the likeliest first; hashes."""

    before: RateFound
    """All trials of commits before the suspects."""

    after: RateFound
    """All trials of commits from the last suspect on."""

    commits: tuple[CommitFound, ...]
    """The whole line, the good end first."""

    trials: int
    """Trials that were made now and judged."""

    voided: int
    """Trials that were made now and are no answer."""

    reused: int
    """Trials that were kept before and count."""

    built: int
    """Commits that were built."""

    cost_usd: float | None
    """What the trials that were made now cost, as far as known."""

    notes: tuple[str, ...] = ()
    """What a person should know."""

    @property
    def good_end(self) -> CommitFound:
        """What was found of the good end."""
        return self.commits[0]

    @property
    def bad_end(self) -> CommitFound:
        """What was found of the bad end."""
        return self.commits[-1]


BISECT_DOCUMENT = Document("bisect", BisectReport)
"""The JSON document of this report."""


def rate_found(tries: Tries) -> RateFound:
    """A rate with its interval."""
    if not tries.judged:
        return RateFound(passed=0, judged=0, low=None, high=None)
    low, high = jeffreys(tries.passed, tries.judged)
    return RateFound(passed=tries.passed, judged=tries.judged, low=low, high=high)
