"""The report of forks, as values that all formats are rendered from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from demeanor.core.values.exit_code import ExitCode
from demeanor.render import ReportDocument


class ForkOutcome(StrEnum):
    """How a fork or a scan ended."""

    MEASURED = "measured"
    """The pass rate from a step was measured."""

    FOUND = "found"
    """The decisive step was found with the required confidence."""

    NO_DROP = "no drop"
    """The chance of passing was as low from the first step on."""

    UNDECIDED = "undecided"
    """No trial could be judged, or the scan stopped before it reached the required confidence."""

    @property
    def exit_code(self) -> ExitCode:
        """The exit code of the command."""
        return {
            ForkOutcome.NO_DROP: ExitCode.REJECTED,
            ForkOutcome.UNDECIDED: ExitCode.UNDECIDED,
        }.get(self, ExitCode.ACCEPTED)


@dataclass(frozen=True, kw_only=True, slots=True)
class ForkStep:
    """A step of the recorded trial, and the trials that start there."""

    step: int
    """1, 2, 3 …: the answers of the main conversation."""

    did: str
    """What the recorded trial did there. Hostile text."""

    passed: int = 0
    """Trials that start there and passed."""

    failed: int = 0
    """Trials that start there and failed."""

    voided: int = 0
    """Trials that start there and are void."""

    low: float | None = None
    """The lower end of the 95 % interval of the pass rate (Wilson); None without judged trials."""

    high: float | None = None
    """Its upper end."""

    chance: float | None = None
    """The probability that this is the decisive step; None if no scan was made."""

    why_void: str = ""
    """Why its trials are void, if none could be judged. Hostile text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherAnswer:
    """What trials that passed did at the decisive step."""

    did: str
    """What they did. Hostile text."""

    trials: int
    """How many of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DecisiveStep:
    """The step at which the chance of passing fell."""

    step: int
    """The step."""

    until: int
    """The last step that can't be told apart from it, because no trial that starts in between could be judged."""

    confidence: float
    """The probability that the chance fell there."""

    before: tuple[int, int]
    """Passed and judged trials that start at this step or before it."""

    after: tuple[int, int]
    """Passed and judged trials that start behind it."""

    did: str
    """What the recorded trial did. Hostile text."""

    instead: tuple[OtherAnswer, ...]
    """What trials that start at this step and passed did there, the most frequent first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForkReport:
    """Trials that start from steps of a stored trial."""

    trial: str
    """The recorded trial."""

    run: str
    """Its run."""

    recorded: str
    """Its outcome: `pass`, `fail` or `void`."""

    subject: str
    """The subject that is asked from the step on, as `agent:model`."""

    outcome: ForkOutcome
    """The result."""

    exit_code: ExitCode
    """The exit code of the command."""

    steps: tuple[ForkStep, ...]
    """All steps of the recorded trial."""

    at: int | None = None
    """The step at which trials start; None for a scan."""

    decisive: DecisiveStep | None = None
    """The most likely decisive step of a scan; None if there is none."""

    no_drop: float | None = None
    """The probability that the chance was as low from the first step on; None if no scan was made."""

    asked_confidence: float | None = None
    """The required confidence of a scan; one minus it is its error rate."""

    changed: tuple[str, ...] = ()
    """What differs from the recorded trial from the step on: model, instructions, answer."""

    trials: int = 0
    """Judged trials."""

    voided: int = 0
    """Void trials."""

    cost_usd: float | None = None
    """The cost of the trials, as far as known; replayed answers cost nothing."""

    folder: str = ""
    """Where the trials are stored."""

    notes: tuple[str, ...] = ()
    """Warnings and remarks."""

    @property
    def forked(self) -> ForkStep | None:
        """The step at which trials start; None for a scan."""
        return None if self.at is None else self.steps[self.at - 1]


FORK_DOCUMENT = ReportDocument("fork", ForkReport)
"""The JSON document of this report."""
