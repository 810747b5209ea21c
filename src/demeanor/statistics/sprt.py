"""Wald's sequential probability ratio test (1945): decides between two rates with as few trials as possible.

With Wald's limits each error rate is at most the requested one, divided by one minus the other. `operation` calculates
the exact error rates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from demeanor.statistics.operating import Operation, operate


@dataclass(frozen=True, kw_only=True, slots=True)
class Sprt:
    """A sequential test of two pass rates."""

    good: float
    """The rate of a good eval."""

    bad: float
    """The rate of a bad eval; lower than `good`."""

    miss_good: float
    """The accepted probability to call a good eval bad."""

    miss_bad: float
    """The accepted probability to call a bad eval good."""

    def __post_init__(self) -> None:
        if not 0 < self.bad < self.good < 1:
            raise ValueError(f"good={self.good}, bad={self.bad}: bad must be below good, both between 0 and 1")
        if not (0 < self.miss_good < 1 and 0 < self.miss_bad < 1 and self.miss_good + self.miss_bad < 1):
            raise ValueError(
                f"miss_good={self.miss_good}, miss_bad={self.miss_bad}: both must be above 0, their sum below 1"
            )

    @property
    def pass_score(self) -> float:
        """The score of a pass."""
        return math.log(self.good / self.bad)

    @property
    def fail_score(self) -> float:
        """The score of a fail, which is negative."""
        return math.log((1 - self.good) / (1 - self.bad))

    @property
    def good_at(self) -> float:
        """The score from which the answer is `good`."""
        return math.log((1 - self.miss_good) / self.miss_bad)

    @property
    def bad_at(self) -> float:
        """The score, which is negative, down to which the answer is `bad`."""
        return math.log(self.miss_good / (1 - self.miss_bad))

    def score(self, passed: int, failed: int) -> float:
        """The log-likelihood ratio; positive if `good` is more likely."""
        return passed * self.pass_score + failed * self.fail_score

    def answer(self, passed: int, failed: int) -> Literal["good", "bad"] | None:
        """The answer for these counts; None to continue."""
        score = self.score(passed, failed)
        if score >= self.good_at:
            return "good"
        return "bad" if score <= self.bad_at else None

    def passes_needed(self, passed: int = 0, failed: int = 0) -> int:
        """The number of consecutive passes after which the answer is `good`."""
        return max(0, math.ceil((self.good_at - self.score(passed, failed)) / self.pass_score - 1e-9))

    def operation(self, rate: float, *, cap: int = 1000, batch: int = 1) -> Operation:
        """Its exact characteristics at a true rate, if it is applied after each `batch`, up to `cap` trials."""
        return operate(self.answer, rate, cap=cap, batch=batch)
