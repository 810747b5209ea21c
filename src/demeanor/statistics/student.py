"""Student's t: how many standard errors an interval needs where the spread itself is estimated from few numbers."""

from __future__ import annotations

import math

from demeanor.statistics.beta import quantile


def reach(level: float, freedom: int) -> float:
    """Half the width of an interval of this level, in standard errors, for so many degrees of freedom."""
    if not 0 < level < 1 or freedom < 1:
        raise ValueError(f"level={level}, freedom={freedom}: a level between 0 and 1, and at least 1 degree of freedom")
    x = quantile(1 - level, freedom / 2, 0.5)
    return math.sqrt(freedom * (1 - x) / x)
