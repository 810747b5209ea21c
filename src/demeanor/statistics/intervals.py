"""Confidence intervals of a rate.

Wilson's interval is short, and its coverage is close to the level on average: use it in reports. The coverage of
Clopper and Pearson's is never below the level: use it for guarantees. Jeffreys' is the Bayesian interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from demeanor.statistics.beta import quantile

_QUANTILE_95 = 1.9599639845400536


class Interval(NamedTuple):
    """An interval of rates."""

    low: float
    """The lower end, at least 0."""

    high: float
    """The upper end, at most 1."""


def wilson(passed: float, judged: float, *, level: float = 0.95) -> Interval:
    """Wilson's score interval of a rate (1927)."""
    _validate(passed, judged, level)
    return _score_interval(passed / judged, judged, level)


def wilson_of_mean(rates: Sequence[float], judged: Sequence[int], *, level: float = 0.95) -> Interval:
    """Wilson's interval of the mean of several rates, each from its own number of trials.

    It uses the number of trials that would give a single rate the variance of the mean. If the true rates differ, the
    interval is a little too wide. It applies to these rates, not to a population that they were drawn from.
    """
    if not rates or len(rates) != len(judged) or min(judged) < 1:
        raise ValueError(f"rates={rates!r}, judged={judged!r}: each rate needs a number of trials of at least 1")
    trials = len(rates) ** 2 / math.fsum(1 / n for n in judged)
    return _score_interval(math.fsum(rates) / len(rates), trials, level)


def clopper_pearson(passed: int, judged: int, *, level: float = 0.95) -> Interval:
    """Clopper and Pearson's exact interval of a rate (1934): its coverage is at least `level`."""
    _validate(passed, judged, level)
    tail, failed = (1 - level) / 2, judged - passed
    return Interval(
        0.0 if passed == 0 else quantile(tail, passed, failed + 1),
        1.0 if failed == 0 else quantile(1 - tail, passed + 1, failed),
    )


def jeffreys(passed: float, judged: float, *, level: float = 0.95) -> Interval:
    """The interval of a rate with the prior Beta(½, ½); its end is 0 or 1 if all trials agree."""
    _validate(passed, judged, level)
    tail, failed = (1 - level) / 2, judged - passed
    return Interval(
        0.0 if passed == 0 else quantile(tail, passed + 0.5, failed + 0.5),
        1.0 if failed == 0 else quantile(1 - tail, passed + 0.5, failed + 0.5),
    )


def _score_interval(rate: float, trials: float, level: float) -> Interval:
    z = _quantile(level)
    weight = z * z / trials
    centre = (rate + weight / 2) / (1 + weight)
    half_width = z * math.sqrt(rate * (1 - rate) / trials + weight / (4 * trials)) / (1 + weight)
    # At the ends the formula gives exactly 0 and 1, but floating point does not.
    low = 0.0 if rate == 0 else max(0.0, centre - half_width)
    return Interval(low, 1.0 if rate == 1 else min(1.0, centre + half_width))


def _quantile(level: float) -> float:
    """How many standard deviations around the mean have the probability `level`."""
    if level == 0.95:
        return _QUANTILE_95
    from statistics import NormalDist  # with fractions and decimal numbers, which a report does not need

    return NormalDist().inv_cdf((1 + level) / 2)


def _validate(passed: float, judged: float, level: float) -> None:
    if judged < 1 or not 0 <= passed <= judged:
        raise ValueError(
            f"passed={passed} of judged={judged}: judged must be at least 1, and passed between 0 and judged"
        )
    if not 0 < level < 1:
        raise ValueError(f"level={level}: level must be between 0 and 1, such as 0.95")
