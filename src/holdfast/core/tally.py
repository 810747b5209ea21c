"""Verdicts of one cell, counted; and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from holdfast.core.evidence import Spent
from holdfast.core.policy import Policy


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

    spent: Spent = field(default_factory=Spent)
    """What all attempts used."""

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
