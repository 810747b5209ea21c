"""The interval of a difference of two rates: Newcombe (1998), method 10, from the Wilson intervals of both rates."""

from __future__ import annotations

import math

from demeanor.statistics.intervals import Interval, wilson


def newcombe(before: tuple[float, float], after: tuple[float, float], *, level: float = 0.95) -> Interval:
    """The interval of the rate after minus the rate before; each is a pair (passed, judged)."""
    (passed_1, judged_1), (passed_2, judged_2) = before, after
    low_1, high_1 = wilson(passed_1, judged_1, level=level)
    low_2, high_2 = wilson(passed_2, judged_2, level=level)
    rate_1, rate_2 = passed_1 / judged_1, passed_2 / judged_2
    difference = rate_2 - rate_1
    down, up = math.hypot(rate_2 - low_2, high_1 - rate_1), math.hypot(high_2 - rate_2, rate_1 - low_1)
    return Interval(max(-1.0, difference - down), min(1.0, difference + up))
