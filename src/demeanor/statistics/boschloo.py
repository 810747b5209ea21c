"""Has the second of two rates fallen? Boschloo's exact test (1970), which sees at least as much as Fisher's.

Fisher's p-value serves as the measure of surprise only. The p-value is the chance, under the common rate that makes it
largest, of a result at least as surprising: exact for any rate, and without Fisher's waste in small samples.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from demeanor.statistics import binomial, fisher

_GRID = 80
_CLOSER = 24
_HALVINGS = 16
_SAME = 1 + 1e-9
"""Two surprises closer than this are the same, and differ by rounding only."""


class Region(NamedTuple):
    """The results that count as a fall: for each number of passes before, the most passes after."""

    edge: tuple[int, ...]
    """Most passes of the second sample for 0, 1, 2 … passes of the first; -1 for none at all."""

    new_judged: int
    """Trials of the second sample."""

    def chance(self, base: float, new: float) -> float:
        """The chance of a result in the region, for these true rates."""
        before = binomial.table(len(self.edge) - 1, base)
        after, total = [], 0.0
        for chance in binomial.table(self.new_judged, new):
            total += chance
            after.append(total)
        return min(1.0, math.fsum(b * after[e] for b, e in zip(before, self.edge, strict=True) if e >= 0))

    @property
    def size(self) -> float:
        """The largest chance of the region where both rates are the same."""
        return _largest(self)


@lru_cache(maxsize=4096)
def p_decrease(base_passed: int, base_judged: int, new_passed: int, new_judged: int) -> float:
    """The one-sided p-value of a fall from the first rate to the second."""
    surprise = fisher.p_decrease(base_passed, base_judged, new_passed, new_judged)
    return region(base_judged, new_judged, surprise).size


@lru_cache(maxsize=256)
def rejection(base_judged: int, new_judged: int, level: float) -> Region:
    """All results whose p-value is at most `level`: what the test can see at all."""
    # The test is never stricter than Fisher's, so the least surprise that suffices lies above the level.
    low, high = level, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if region(base_judged, new_judged, middle).size <= level:
            low = middle
        else:
            high = middle
    return region(base_judged, new_judged, low)


@lru_cache(maxsize=1024)
def region(base_judged: int, new_judged: int, surprise: float) -> Region:
    """All results that are at least so surprising; the more passed before, the more may pass after."""
    edge, reach = [], -1
    for base in range(base_judged + 1):
        while reach < new_judged and fisher.p_decrease(base, base_judged, reach + 1, new_judged) <= surprise * _SAME:
            reach += 1
        edge.append(reach)
    return Region(tuple(edge), new_judged)


def _largest(region: Region) -> float:
    def height(angle: float) -> float:
        rate = math.sin(angle) ** 2  # dense where the rates are extreme, as they are in practice
        return region.chance(rate, rate)

    step = math.pi / 2 / _GRID
    at = max(range(_GRID + 1), key=lambda index: height(index * step)) * step
    best = height(at)
    for _ in range(_CLOSER):
        step *= 0.6
        for near in (at - step, at + step):
            found = height(min(math.pi / 2, max(0.0, near)))
            if found > best:
                best, at = found, min(math.pi / 2, max(0.0, near))
    return best
