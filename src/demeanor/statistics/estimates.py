"""A rate with its interval."""

from __future__ import annotations

from functools import lru_cache

from demeanor.core.values.tally import Estimate
from demeanor.statistics.intervals import wilson


@lru_cache(maxsize=4096)
def estimate(passed: int, judged: int) -> Estimate:
    """A rate with its interval. Cached, because the same few counts occur thousands of times."""
    low, high = wilson(passed, judged)
    return Estimate(value=passed / judged, low=low, high=high)
