"""Boschloo's exact test (1970), one-sided: is the second of two rates lower? At least as powerful as Fisher's test.

Fisher's p-value is used as the test statistic. The p-value is the probability of a result that is at least as extreme,
maximized over the common rate: valid for any rate, and less conservative than Fisher's test in small samples.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from demeanor.statistics import binomial, fisher

_GRID = 80
_REFINEMENTS = 24
_BISECTIONS = 16
_TOLERANCE = 1 + 1e-9
"""Two statistics closer than this differ only by rounding."""


class Region(NamedTuple):
    """The rejection region: for each number of passes before, the maximum passes after."""

    edge: tuple[int, ...]
    """Maximum passes of the second sample for 0, 1, 2 … passes of the first; -1 if no result is in the region."""

    new_judged: int
    """Trials of the second sample."""

    def chance(self, base: float, new: float) -> float:
        """The probability of the region, for these true rates."""
        before = binomial.table(len(self.edge) - 1, base)
        after, total = [], 0.0
        for chance in binomial.table(self.new_judged, new):
            total += chance
            after.append(total)
        return min(1.0, math.fsum(b * after[e] for b, e in zip(before, self.edge, strict=True) if e >= 0))

    @property
    def size(self) -> float:
        """The maximum probability of the region if both rates are equal."""
        return _max_probability(self)


@lru_cache(maxsize=4096)
def p_decrease(base_passed: int, base_judged: int, new_passed: int, new_judged: int) -> float:
    """The one-sided p-value of a decrease from the first rate to the second."""
    statistic = fisher.p_decrease(base_passed, base_judged, new_passed, new_judged)
    return region(base_judged, new_judged, statistic).size


@lru_cache(maxsize=256)
def rejection(base_judged: int, new_judged: int, level: float) -> Region:
    """All results whose p-value is at most `level`."""
    # The test is never more conservative than Fisher's, so the critical value of the statistic is at least the level.
    low, high = level, 1.0
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if region(base_judged, new_judged, middle).size <= level:
            low = middle
        else:
            high = middle
    return region(base_judged, new_judged, low)


@lru_cache(maxsize=1024)
def region(base_judged: int, new_judged: int, statistic: float) -> Region:
    """All results that are at least as extreme as `statistic`."""
    edge, reach = [], -1
    for base in range(base_judged + 1):
        while (
            reach < new_judged and fisher.p_decrease(base, base_judged, reach + 1, new_judged) <= statistic * _TOLERANCE
        ):
            reach += 1
        edge.append(reach)
    return Region(tuple(edge), new_judged)


def _max_probability(region: Region) -> float:
    def probability(angle: float) -> float:
        rate = math.sin(angle) ** 2  # a denser grid near 0 and 1, where rates are in practice
        return region.chance(rate, rate)

    step = math.pi / 2 / _GRID
    at = max(range(_GRID + 1), key=lambda index: probability(index * step)) * step
    best = probability(at)
    for _ in range(_REFINEMENTS):
        step *= 0.6
        for near in (at - step, at + step):
            value = probability(min(math.pi / 2, max(0.0, near)))
            if value > best:
                best, at = value, min(math.pi / 2, max(0.0, near))
    return best
