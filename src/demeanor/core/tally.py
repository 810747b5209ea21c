"""Verdicts of one cell, counted; and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypeAlias

from demeanor.core.evidence import Spent
from demeanor.core.policy import Policy

Estimator: TypeAlias = Literal["unbiased", "plug-in"]
"""How pass@k and pass^k are reckoned; plug-in numbers are always labelled."""


class Status(StrEnum):
    """A cell at a glance."""

    PASS = "PASS"  # noqa: S105 - a word, not a password
    """Every judged trial passed."""

    FLAKY = "FLAKY"
    """Some passed, some failed."""

    FAIL = "FAIL"
    """Every judged trial failed."""

    VOID = "VOID"
    """No trial could be judged."""

    SKIPPED = "SKIPPED"
    """Nothing was tried; the reason is given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A number with its uncertainty."""

    value: float
    """The best guess."""

    low: float
    """The lower end of the interval."""

    high: float
    """The upper end of the interval."""

    level: float = 0.95
    """How often such an interval holds the truth."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """The verdicts of one eval on one subject, counted. Voids are counted apart and enter no rate."""

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
    """Trials that could not be judged, after all attempts."""

    missing: int = 0
    """Trials that were planned but not carried out."""

    attempts: int = 0
    """All attempts, also the voided ones that were tried again."""

    skipped: str | None = None
    """Why nothing was tried, if so."""

    rate: Estimate | None = None
    """The pass rate with its interval; None where nothing was judged."""

    pass_at: Mapping[int, float | None] = field(default_factory=dict)
    """k → the probability that at least one of k trials passes; None where fewer than k were judged."""

    pass_hat: Mapping[int, float | None] = field(default_factory=dict)
    """k → the probability that all of k trials pass; None where fewer than k were judged."""

    estimator: Estimator = "unbiased"
    """How `pass_at` and `pass_hat` were reckoned."""

    spent: Spent = field(default_factory=Spent)
    """What all attempts used, as far as known."""

    unpriced: int = 0
    """Attempts whose cost nobody knows: where some is known, `spent.cost_usd` is a lower bound."""

    uncounted: int = 0
    """Attempts whose tokens nobody counted in full: where some are known, `spent.tokens` is a lower bound."""

    @property
    def judged(self) -> int:
        """How many trials count."""
        return self.passed + self.failed

    @property
    def status(self) -> Status:
        """The cell at a glance."""
        if self.skipped is not None:
            return Status.SKIPPED
        if self.judged == 0:
            return Status.VOID
        if self.failed == 0:
            return Status.PASS
        return Status.FAIL if self.passed == 0 else Status.FLAKY


@dataclass(frozen=True, kw_only=True, slots=True)
class Mean:
    """A mean over evals, each of which weighs the same."""

    value: float
    """The mean."""

    evals: int
    """How many evals it is the mean of: those for which the number is defined."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """All tallies of one subject. Rates are means over evals: trials are never thrown into one pot."""

    subject: str
    """The subject, as `agent:model`."""

    evals: int = 0
    """How many evals there are, skipped ones included."""

    judged: int = 0
    """How many of them have at least one judged trial."""

    statuses: Mapping[Status, int] = field(default_factory=dict)
    """How many evals have which status."""

    rate: Estimate | None = None
    """The mean pass rate with its interval; None where nothing was judged."""

    pass_at: Mapping[int, Mean | None] = field(default_factory=dict)
    """k → the mean of pass@k; None where it is defined for no eval."""

    pass_hat: Mapping[int, Mean | None] = field(default_factory=dict)
    """k → the mean of pass^k; None where it is defined for no eval."""

    spent: Spent = field(default_factory=Spent)
    """What all attempts used, as far as known."""

    unpriced: int = 0
    """Attempts whose cost nobody knows: where some is known, `spent.cost_usd` is a lower bound."""

    uncounted: int = 0
    """Attempts whose tokens nobody counted in full: where some are known, `spent.tokens` is a lower bound."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """A tally held against its policy."""

    answer: Literal["accept", "reject", "undecided", "skipped"]
    """What follows."""

    rule: str
    """The rule that was applied, by name."""

    reason: str
    """Why, in a sentence with the numbers."""

    news: bool = False
    """True where a behaviour that is known to be bad has begun to pass."""
