"""The mean difference between A and B over the evals of a suite, with its interval (paired comparison).

Each eval is compared with itself, so it does not matter that some evals are harder than others. The interval is
Student's, from the standard deviation of the differences. With three passes of three everywhere that is 0, and an
interval of width 0 would be wrong. So the standard error is at least the one that follows from the counts, with each
rate shrunk by one trial towards the mean of its side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from demeanor.statistics.beta import quantile
from demeanor.statistics.intervals import wilson

Count: TypeAlias = tuple[float, float]
"""Passed, judged: less than whole trials if they are worth less."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """B minus A, with its interval."""

    value: float
    """The mean difference."""

    error: float
    """Its standard error."""

    low: float
    """The lower end of the interval."""

    high: float
    """The upper end of the interval."""

    pairs: int
    """The number of pairs."""

    level: float
    """The confidence level of the interval."""


def paired_difference(
    a: Sequence[float], b: Sequence[float], *, level: float = 0.95, min_error: float = 0.0
) -> Difference | None:
    """The mean of b - a with its interval; None if there are fewer than two pairs."""
    if len(a) != len(b):
        raise ValueError(f"{len(a)} numbers of A and {len(b)} of B: both must have the same length")
    pairs = len(a)
    if pairs < 2:
        return None
    differences = [y - x for x, y in zip(a, b, strict=True)]
    mean = math.fsum(differences) / pairs
    deviation = math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / (pairs - 1))
    error = max(deviation / math.sqrt(pairs), min_error)
    width = student_factor(level, pairs - 1) * error
    return Difference(value=mean, error=error, low=mean - width, high=mean + width, pairs=pairs, level=level)


@lru_cache(maxsize=256)
def student_factor(level: float, freedom: int) -> float:
    """Half the width of Student's t interval, in standard errors, for a number of degrees of freedom."""
    if not 0 < level < 1 or freedom < 1:
        raise ValueError(f"level={level}, freedom={freedom}: level must be between 0 and 1, freedom at least 1")
    x = quantile(1 - level, freedom / 2, 0.5)
    return math.sqrt(freedom * (1 - x) / x)


def paired_rates(
    a: Sequence[Sequence[Count]], b: Sequence[Sequence[Count]], *, level: float = 0.95
) -> Difference | None:
    """The mean difference of pass rates. Each eval is one pair; its strata (subjects) are averaged within it first."""
    pairs = len(a)
    least = math.sqrt(_sampling_variance(a) + _sampling_variance(b)) / pairs if pairs else 0.0
    difference = paired_difference([_mean_rate(c) for c in a], [_mean_rate(c) for c in b], level=level, min_error=least)
    if difference is None:
        return None
    return Difference(
        value=difference.value,
        error=difference.error,
        low=max(-1.0, difference.low),
        high=min(1.0, difference.high),
        pairs=pairs,
        level=level,
    )


def clustered_mean(counts: Sequence[Count], *, level: float = 0.95) -> tuple[float, float, float]:
    """The mean of the pass rates of several clusters (the cases of a table), and its interval.

    The trials of one case are alike, so the cases are what was sampled: the interval is Student's, from the differences
    between cases. It is never narrower than Wilson's interval of all trials, which would hold if the cases did not
    differ: cases that all pass say little about how rare a failure is. A single case has Wilson's interval.
    """
    rates = [passed / judged for passed, judged in counts]
    least = math.sqrt(_sampling_variance([[count] for count in counts])) / len(counts)
    difference = paired_difference([0.0] * len(rates), rates, level=level, min_error=least)
    if difference is None:
        return rates[0], *wilson(*counts[0], level=level)
    low, high = wilson(sum(passed for passed, _ in counts), sum(judged for _, judged in counts), level=level)
    return difference.value, max(0.0, min(low, difference.low)), min(1.0, max(high, difference.high))


def _mean_rate(strata: Sequence[Count]) -> float:
    return math.fsum(passed / judged for passed, judged in strata) / len(strata)


def _sampling_variance(evals: Sequence[Sequence[Count]]) -> float:
    """The variance of the sum of the rates that follows from the numbers of trials."""
    passed = sum(c for strata in evals for c, _ in strata)
    judged = sum(n for strata in evals for _, n in strata)
    mean = (passed + 0.5) / (judged + 1)
    total = 0.0
    for strata in evals:
        for c, n in strata:
            rate = (c + mean) / (n + 1)
            total += rate * (1 - rate) / n / len(strata) ** 2
    return total
