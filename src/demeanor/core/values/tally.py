"""The verdicts of a cell, counted, and the decision that follows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from demeanor.core.values.evidence import Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.verdict import VoidCause


class Status(StrEnum):
    """The result of a cell in one word."""

    PASS = "PASS"  # noqa: S105 - a word, not a password
    """Every judged trial passed."""

    FLAKY = "FLAKY"
    """Some passed, some failed."""

    FAIL = "FAIL"
    """Every judged trial failed."""

    VOID = "VOID"
    """No trial could be judged."""

    SKIPPED = "SKIPPED"
    """Nothing ran, for the reason given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A number with its uncertainty."""

    value: float
    """The point estimate."""

    low: float
    """The lower end of the interval."""

    high: float
    """The upper end of the interval."""

    level: float = 0.95
    """The confidence level of the interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """The verdicts of one eval on one subject, counted. Voids are counted separately and enter no rate."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's policy."""

    passed: int = 0
    """Trials that passed."""

    failed: int = 0
    """Trials that failed."""

    voided: int = 0
    """Trials without a verdict after all attempts."""

    void_causes: Mapping[VoidCause, int] = field(default_factory=dict)
    """Their causes, as far as they are known."""

    missing: int = 0
    """Planned trials that did not run."""

    attempts: int = 0
    """All attempts, including voided ones that were retried."""

    needed: int | None = None
    """The number of trials that must be judged, if it is configured; None means the policy's own rule."""

    skipped: str | None = None
    """Why the cell was skipped, if it was."""

    rate: Estimate | None = None
    """The pass rate with its interval; None if no trial was judged."""

    pass_at: Mapping[int, float | None] = field(default_factory=dict)
    """k → the probability that at least one of k trials passes (estimated from the rate, if at most k were judged)."""

    pass_hat: Mapping[int, float | None] = field(default_factory=dict)
    """k → the probability that all of k trials pass (estimated from the rate, if at most k were judged)."""

    spent: Spent = field(default_factory=Spent)
    """What all attempts used, as far as it is known."""

    unpriced: int = 0
    """Attempts of unknown cost. If there are any, `spent.cost_usd` is a lower bound."""

    uncounted: int = 0
    """Attempts whose tokens were not all counted. If there are any, `spent.tokens` is a lower bound."""

    @property
    def judged(self) -> int:
        """The number of trials with a verdict of pass or fail."""
        return self.passed + self.failed

    @property
    def doubtful(self) -> int:
        """The void trials that the agent may have brought about."""
        return self.voided - sum(number for cause, number in self.void_causes.items() if not cause.agent_reachable)

    @property
    def planned(self) -> int:
        """The number of trials, judged or not."""
        return self.judged + self.voided + self.missing

    @property
    def status(self) -> Status:
        """The result of the cell in one word."""
        if self.skipped is not None:
            return Status.SKIPPED
        if self.judged == 0:
            return Status.VOID
        if self.failed == 0:
            return Status.PASS
        return Status.FAIL if self.passed == 0 else Status.FLAKY


@dataclass(frozen=True, kw_only=True, slots=True)
class Mean:
    """A mean over evals with equal weights."""

    value: float
    """The mean."""

    evals: int
    """The number of evals for which the value is defined."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseGroup:
    """All cases of one eval on one subject."""

    name: str
    """The name that the cases share."""

    subject: str
    """The subject, as `agent:model`."""

    cases: int
    """The number of cases."""

    judged: int
    """The number of cases with a judged trial."""

    rate: Estimate | None = None
    """The mean pass rate of those; its interval is clustered by case. None if there are none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """All tallies of one subject. Rates are means over evals; trials of different evals are never pooled."""

    subject: str
    """The subject, as `agent:model`."""

    evals: int = 0
    """The number of evals, including skipped ones."""

    judged: int = 0
    """The number of evals in the means: those with a judged trial, without USUALLY_FAILS."""

    known_bad: int = 0
    """The number of USUALLY_FAILS evals with a judged trial; they are not part of the means."""

    known_bad_rate: Estimate | None = None
    """The mean pass rate of those; None if there are none."""

    statuses: Mapping[Status, int] = field(default_factory=dict)
    """The number of evals by status."""

    rate: Estimate | None = None
    """The mean pass rate with its interval, without USUALLY_FAILS; None if no trial was judged."""

    pass_at: Mapping[int, Mean | None] = field(default_factory=dict)
    """k → the mean of pass@k; None if it is defined for no eval."""

    pass_hat: Mapping[int, Mean | None] = field(default_factory=dict)
    """k → the mean of pass^k; None if it is defined for no eval."""

    spent: Spent = field(default_factory=Spent)
    """What all attempts used, as far as it is known."""

    unpriced: int = 0
    """Attempts of unknown cost. If there are any, `spent.cost_usd` is a lower bound."""

    uncounted: int = 0
    """Attempts whose tokens were not all counted. If there are any, `spent.tokens` is a lower bound."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """The result of comparing a tally with its policy."""

    answer: Literal["accept", "reject", "undecided", "skipped"]
    """The decision."""

    rule: str
    """The name of the rule that was applied."""

    reason: str
    """The reason, in a sentence with the numbers."""

    news: bool = False
    """True if an eval that usually fails has begun to pass."""
