"""Power analysis: the trials needed to detect a decrease, and the smallest decrease that can be detected."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal, TypeAlias

from demeanor.statistics import fisher
from demeanor.statistics.binomial import at_least
from demeanor.statistics.boschloo import Region, rejection

Test: TypeAlias = Literal["fisher", "mid-p", "boschloo"]

_MAX_TRIALS = 5000
_BISECTIONS = 20
_START = 0.9
"""The exact tests need at least this fraction of the trials of the normal approximation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleSize:
    """A number of trials, and the number of fails that is significant."""

    trials: int
    """The number of trials."""

    fails: int
    """The number of fails from which the decrease is significant."""


def trials_against_known(
    base: float, new: float, *, level: float = 0.05, power: float = 0.8, spare: int = 2
) -> SampleSize | None:
    """The fewest trials that detect a decrease from a well-known rate; None if 5000 are not enough.

    An additional trial can reduce the power, if it increases the number of fails that is needed. So up to `spare` more
    trials must be enough too, because the actual number often differs from the plan.
    """
    _validate(base, new)
    fails, enough = 1, 0
    first: SampleSize | None = None
    for trials in range(1, _MAX_TRIALS + 1):
        while at_least(fails, trials, 1 - base) > level:
            fails += 1
        if fails <= trials and at_least(fails, trials, 1 - new) >= power:
            first = first or SampleSize(trials=trials, fails=fails)
            enough += 1
            if enough > spare:
                return first
        else:
            first, enough = None, 0
    return None


def trials_per_side(base: float, new: float, *, level: float = 0.05, power: float = 0.8) -> int:
    """The trials per side that detect a decrease between two samples, by the normal approximation."""
    _validate(base, new)
    mean, normal = (base + new) / 2, NormalDist()
    significance = normal.inv_cdf(1 - level) * math.sqrt(2 * mean * (1 - mean))
    detection = normal.inv_cdf(power) * math.sqrt(base * (1 - base) + new * (1 - new))
    return math.ceil(((significance + detection) / (base - new)) ** 2)


def exact_trials_per_side(
    base: float, new: float, *, test: Test, level: float = 0.05, power: float = 0.8, spare: int = 2
) -> int | None:
    """The fewest trials per side with which the test detects a decrease; up to `spare` more are enough too."""
    enough = 0
    guess = trials_per_side(base, new, level=level, power=power)
    for trials in range(max(1, int(guess * _START)), _MAX_TRIALS + 1):
        enough = enough + 1 if region_of(test, trials, trials, level).chance(base, new) >= power else 0
        if enough > spare:
            return trials - spare
    return None


@lru_cache(maxsize=256)
def region_of(test: Test, base_judged: int, new_judged: int, level: float) -> Region:
    """All results that the test calls a decrease."""
    if test == "boschloo":
        return rejection(base_judged, new_judged, level)
    p_value = fisher.p_decrease if test == "fisher" else fisher.mid_p_decrease
    edge, reach = [], -1
    for base in range(base_judged + 1):
        while reach < new_judged and p_value(base, base_judged, reach + 1, new_judged) <= level:
            reach += 1
        edge.append(reach)
    return Region(tuple(edge), new_judged)


def fails_that_surprise(trials: int, base: float, *, level: float = 0.05) -> int:
    """The fewest fails in `trials` that are significant at the rate `base`; `trials` + 1 if none are."""
    return next(fails for fails in range(1, trials + 2) if fails > trials or at_least(fails, trials, 1 - base) <= level)


def detectable_drop(chance: Callable[[float], float], base: float, *, power: float = 0.8) -> float | None:
    """The smallest drop from `base` that is detected with this power; None if not even a drop to 0 is.

    `chance` is the probability to detect a new rate; it must not increase with the rate.
    """
    if not 0 < base <= 1:
        raise ValueError(f"base={base}: base must be above 0 and at most 1")
    if chance(0.0) < power:
        return None
    low, high = 0.0, base
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if chance(middle) >= power:
            low = middle
        else:
            high = middle
    return base - low


def _validate(base: float, new: float) -> None:
    if not 0 <= new < base <= 1:
        raise ValueError(f"base={base}, new={new}: new must be below base, both between 0 and 1")
