"""Is a rate lower, higher or the same as a known baseline? A sequential test with stated error rates.

The baseline is known from a number of trials only, so both ends of its interval are used: a drop must be a drop from
the lower end, a rise must be a rise from the upper end. Each side is a sequential probability ratio test; the answer is
`same` when every side that can be tested says so. A baseline near 0 can't drop and one near 1 can't rise: that side is
not tested. A test that reaches its cap says `same`: a change is never claimed without the evidence for it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias

from demeanor.statistics.beta import quantile
from demeanor.statistics.operating import Operation, operate
from demeanor.statistics.sprt import Sprt

RateDirection: TypeAlias = Literal["drop", "rise", "same"]

_EDGE = 0.02
"""Rates closer than this to 0 or 1 are not told apart from them."""

_ROOM = 0.25
"""A baseline must be this far from 0 to drop, and this far from 1 to rise."""

_TAIL = 0.05
"""The probability that the true baseline is below the lower end that is used, and above the upper end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateChangeTest:
    """A test of one rate against a baseline."""

    low: float
    """The lower end of the baseline."""

    high: float
    """The upper end of the baseline."""

    change: float
    """The size of the change that must be noticed; less if the baseline leaves less room."""

    false_alarm: float
    """The accepted probability to call an unchanged rate a drop, and to call it a rise."""

    miss: float
    """The accepted probability to call a change of this size `same`."""

    cap: int = 40
    """The largest number of trials."""

    @property
    def dropped(self) -> float | None:
        """The rate that counts as a drop for certain; None if the baseline is too low to drop."""
        return max(_EDGE, self.low - self.change) if self.low >= _ROOM else None

    @property
    def risen(self) -> float | None:
        """The rate that counts as a rise for certain; None if the baseline is too high to rise."""
        return min(1 - _EDGE, self.high + self.change) if self.high <= 1 - _ROOM else None

    def answer(self, passed: int, failed: int) -> RateDirection | None:
        """The answer for these counts; None to continue."""
        return _answer(self, passed, failed)

    def batch(self, passed: int, failed: int) -> int:
        """The smallest number of further trials after which there can be an answer; 0 if there is one."""
        left = self.cap - passed - failed
        return next(
            (n for n in range(left) if any(self.answer(passed + good, failed + n - good) for good in range(n + 1))),
            max(0, left),
        )

    def doubt(self, passed: int, failed: int, side: RateDirection) -> float:
        """A bound of the probability that counts like these come from an unchanged rate, whenever one looks."""
        if side == "drop" and self.dropped is not None:
            return min(1.0, math.exp(_sprt(self.low, self.dropped, 0.5, 0.4).score(passed, failed)))
        if side == "rise" and self.risen is not None:
            return min(1.0, math.exp(_sprt(1 - self.high, 1 - self.risen, 0.5, 0.4).score(failed, passed)))
        return 1.0

    def operation(self, rate: float) -> Operation:
        """Its exact characteristics at a true rate, if it is applied after each trial."""
        return operate(self.answer, rate, cap=self.cap)


@lru_cache(maxsize=16384)
def _answer(test: RateChangeTest, passed: int, failed: int) -> RateDirection | None:
    sides = _sides(test, passed, failed)
    side = next((side for side, answer in sides.items() if answer == "bad"), None)
    if side is not None:
        return side
    done = all(answer == "good" for answer in sides.values()) or passed + failed >= test.cap
    return "same" if done else None


def _sides(test: RateChangeTest, passed: int, failed: int) -> dict[RateDirection, str | None]:
    """For each side that is tested: `bad` if the rate changed, `good` if it did not, None to continue."""
    sides: dict[RateDirection, str | None] = {}
    if test.dropped is not None:
        sides["drop"] = _sprt(test.low, test.dropped, test.false_alarm, test.miss).answer(passed, failed)
    if test.risen is not None:
        sides["rise"] = _sprt(1 - test.high, 1 - test.risen, test.false_alarm, test.miss).answer(failed, passed)
    return sides


@lru_cache(maxsize=4096)
def baseline_ends(passed: int, failed: int) -> tuple[float, float]:
    """The lower and the upper end of a baseline: each is exceeded with a probability of 5 % (Jeffreys)."""
    low = quantile(_TAIL, passed + 0.5, failed + 0.5)
    high = quantile(1 - _TAIL, passed + 0.5, failed + 0.5)
    return min(low, 1 - _EDGE), max(high, _EDGE)


@lru_cache(maxsize=4096)
def _sprt(good: float, bad: float, miss_good: float, miss_bad: float) -> Sprt:
    return Sprt(good=good, bad=bad, miss_good=miss_good, miss_bad=miss_bad)
