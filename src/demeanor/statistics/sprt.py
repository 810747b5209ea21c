"""Good or bad? Wald's sequential test (1945): as few trials as possible for two stated error rates.

The limits are Wald's, which keep the errors at about what was asked for: an error is at most what was asked, divided by
one minus the other. What they really are, `operation` tells exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from demeanor.statistics.operating import Operation, operate


@dataclass(frozen=True, kw_only=True, slots=True)
class Sprt:
    """A choice between two pass rates that looks again after every trial."""

    good: float
    """The rate of an eval that should be called good."""

    bad: float
    """The rate of one that should be called bad; lower."""

    miss_good: float
    """How often a good one may be called bad."""

    miss_bad: float
    """How often a bad one may be called good."""

    def __post_init__(self) -> None:
        if not 0 < self.bad < self.good < 1:
            raise ValueError(f"good={self.good}, bad={self.bad}: bad lies below good, both between 0 and 1")
        if not (0 < self.miss_good < 1 and 0 < self.miss_bad < 1 and self.miss_good + self.miss_bad < 1):
            raise ValueError(f"miss_good={self.miss_good}, miss_bad={self.miss_bad}: both above 0, together below 1")

    @property
    def pass_score(self) -> float:
        """What a pass adds to the score."""
        return math.log(self.good / self.bad)

    @property
    def fail_score(self) -> float:
        """What a fail adds to the score: a negative number."""
        return math.log((1 - self.good) / (1 - self.bad))

    @property
    def good_at(self) -> float:
        """The score at which it is good."""
        return math.log((1 - self.miss_good) / self.miss_bad)

    @property
    def bad_at(self) -> float:
        """The score at which it is bad: a negative number."""
        return math.log(self.miss_good / (1 - self.miss_bad))

    def score(self, passed: int, failed: int) -> float:
        """The evidence so far, for good where it is positive."""
        return passed * self.pass_score + failed * self.fail_score

    def answer(self, passed: int, failed: int) -> Literal["good", "bad"] | None:
        """What the trials so far say; None to go on."""
        score = self.score(passed, failed)
        if score >= self.good_at:
            return "good"
        return "bad" if score <= self.bad_at else None

    def passes_needed(self, passed: int = 0, failed: int = 0) -> int:
        """How many more passes in a row make it good."""
        return max(0, math.ceil((self.good_at - self.score(passed, failed)) / self.pass_score - 1e-9))

    def operation(self, rate: float, *, cap: int = 1000, batch: int = 1) -> Operation:
        """How it does at a true rate, exactly, if it is asked after each `batch` of trials and given up at `cap`."""
        return operate(self.answer, rate, cap=cap, batch=batch)
