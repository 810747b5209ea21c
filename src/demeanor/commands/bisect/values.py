"""What a bisection found: which commit changed a behaviour, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from demeanor.core.exit_code import ExitCode
from demeanor.vcs.commit_range import Commit


class BisectOutcome(StrEnum):
    """How a bisection ended."""

    FOUND = "found"
    """A commit is as likely to be the change as was asked for; or a row of them, where some could not be tried."""

    NO_DIFFERENCE = "no difference"
    """The good and the bad end do not differ."""

    UNDECIDED = "undecided"
    """It was ended before it was sure."""

    @property
    def exit_code(self) -> ExitCode:
        """What a script is told."""
        return {
            BisectOutcome.FOUND: ExitCode.ACCEPTED,
            BisectOutcome.NO_DIFFERENCE: ExitCode.REJECTED,
            BisectOutcome.UNDECIDED: ExitCode.UNDECIDED,
        }[self]


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitFound:
    """What a bisection knows of one commit."""

    commit: Commit
    """The commit."""

    chance: float
    """How likely it is the one that changed the behaviour."""

    passed: int = 0
    """Trials that passed, reused ones included."""

    failed: int = 0
    """Trials that failed, reused ones included."""

    voided: int = 0
    """Trials that are no answer."""

    reused: int = 0
    """How many of the judged trials were kept already."""

    skipped: str | None = None
    """Why it can't be tried, if so."""

    run: str | None = None
    """The run that this bisection's own trials of it are kept in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateFound:
    """How often trials passed on one side of the change."""

    passed: int
    """Trials that passed."""

    judged: int
    """Trials that count."""

    low: float | None
    """The lower end of the 95 % interval (Jeffreys); None where there is no trial."""

    high: float | None
    """Its upper end."""
