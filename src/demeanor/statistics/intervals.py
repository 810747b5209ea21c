"""How far a rate seen in a few trials may be from the true one.

Wilson's interval is the one to show: short, and right about as often as it says. Clopper and Pearson's is the one to
promise with: never right less often than it says. Jeffreys' is the Bayesian's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from demeanor.statistics.beta import quantile


class Interval(NamedTuple):
    """Two ends of a range of rates."""

    low: float
    """The lower end, at least 0."""

    high: float
    """The upper end, at most 1."""


def wilson(passed: int, judged: int, *, level: float = 0.95) -> Interval:
    """Wilson's score interval of a rate (1927)."""
    _validate(passed, judged, level)
    return _score_interval(passed / judged, judged, level)


def wilson_of_mean(rates: Sequence[float], judged: Sequence[int], *, level: float = 0.95) -> Interval:
    """Wilson's interval of the mean of rates, each seen in its own number of trials.

    The mean is worth as many trials as would give a single rate its variance. Where the true rates differ the interval
    is a little wider than it had to be; it speaks of these very rates, not of others that might be drawn.
    """
    if not rates or len(rates) != len(judged) or min(judged) < 1:
        raise ValueError(f"rates={rates!r}, judged={judged!r}: each rate needs its number of trials, at least 1")
    worth = len(rates) ** 2 / math.fsum(1 / n for n in judged)
    return _score_interval(math.fsum(rates) / len(rates), worth, level)


def clopper_pearson(passed: int, judged: int, *, level: float = 0.95) -> Interval:
    """The exact interval of a rate (1934): it holds the truth at least as often as `level` says."""
    _validate(passed, judged, level)
    tail, failed = (1 - level) / 2, judged - passed
    return Interval(
        0.0 if passed == 0 else quantile(tail, passed, failed + 1),
        1.0 if failed == 0 else quantile(1 - tail, passed + 1, failed),
    )


def jeffreys(passed: int, judged: int, *, level: float = 0.95) -> Interval:
    """The interval of a rate after a prior of Beta(½, ½), its ends at 0 and 1 where all trials agree."""
    _validate(passed, judged, level)
    tail, failed = (1 - level) / 2, judged - passed
    return Interval(
        0.0 if passed == 0 else quantile(tail, passed + 0.5, failed + 0.5),
        1.0 if failed == 0 else quantile(1 - tail, passed + 0.5, failed + 0.5),
    )


def _score_interval(rate: float, trials: float, level: float) -> Interval:
    z = NormalDist().inv_cdf((1 + level) / 2)
    weight = z * z / trials
    centre = (rate + weight / 2) / (1 + weight)
    reach = z * math.sqrt(rate * (1 - rate) / trials + weight / (4 * trials)) / (1 + weight)
    # At the ends the formula gives exactly 0 and 1, but floating point does not.
    low = 0.0 if rate == 0 else max(0.0, centre - reach)
    return Interval(low, 1.0 if rate == 1 else min(1.0, centre + reach))


def _validate(passed: int, judged: int, level: float) -> None:
    if judged < 1 or not 0 <= passed <= judged:
        raise ValueError(f"passed={passed} of judged={judged}: there must be a trial, and no more passes than trials")
    if not 0 < level < 1:
        raise ValueError(f"level={level}: it lies between 0 and 1, such as 0.95")
