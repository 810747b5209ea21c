"""The binomial distribution."""

from __future__ import annotations

import math

from demeanor.statistics.beta import cdf


def exactly(passed: int, judged: int, rate: float) -> float:
    """The probability of `passed` passes in `judged` trials."""
    if not 0 <= passed <= judged:
        return 0.0
    if rate in (0.0, 1.0):
        return float(passed == rate * judged)
    failed = judged - passed
    ways = math.lgamma(judged + 1) - math.lgamma(passed + 1) - math.lgamma(failed + 1)
    return math.exp(ways + passed * math.log(rate) + failed * math.log1p(-rate))


def at_most(passed: int, judged: int, rate: float) -> float:
    """The probability of `passed` passes or fewer."""
    if passed < 0:
        return 0.0
    return 1.0 if passed >= judged else cdf(1 - rate, judged - passed, passed + 1)


def at_least(passed: int, judged: int, rate: float) -> float:
    """The probability of `passed` passes or more."""
    if passed <= 0:
        return 1.0
    return 0.0 if passed > judged else cdf(rate, passed, judged - passed + 1)


def table(judged: int, rate: float) -> list[float]:
    """The probabilities of 0, 1, 2 … `judged` passes."""
    if rate in (0.0, 1.0):
        return [exactly(passed, judged, rate) for passed in range(judged + 1)]
    mode, odds = min(judged, int(rate * (judged + 1))), rate / (1 - rate)
    chances = [0.0] * (judged + 1)
    chances[mode] = exactly(mode, judged, rate)
    # From the mode downwards on both sides: nothing overflows, and an underflow is harmless.
    for k in range(mode, judged):
        chances[k + 1] = chances[k] * odds * (judged - k) / (k + 1)
    for k in range(mode, 0, -1):
        chances[k - 1] = chances[k] / odds * k / (judged - k + 1)
    return chances
