"""Is one suite better with B than with A? The mean difference, eval by eval, with its interval.

Each eval is compared with itself, so that it does not matter that some evals are harder than others. The interval is
Student's, from the spread of the differences; but with three passes of three everywhere there is no spread at all, and
an interval of no width would claim what nobody knows. So the standard error is never smaller than what the counts
themselves leave open, with each rate drawn a little (one trial's worth) towards the mean of its side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from demeanor.statistics.student import reach

Count: TypeAlias = tuple[int, int]
"""Passed, judged."""


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
    """How many pairs it is the mean of."""

    level: float
    """How often such an interval holds the truth."""


def paired_difference(
    a: Sequence[float], b: Sequence[float], *, level: float = 0.95, least_error: float = 0.0
) -> Difference | None:
    """The mean of b - a with its interval; None where there are fewer than two pairs."""
    if len(a) != len(b):
        raise ValueError(f"{len(a)} numbers of A and {len(b)} of B: each needs its partner")
    pairs = len(a)
    if pairs < 2:
        return None
    differences = [y - x for x, y in zip(a, b, strict=True)]
    mean = math.fsum(differences) / pairs
    spread = math.sqrt(math.fsum((d - mean) ** 2 for d in differences) / (pairs - 1))
    error = max(spread / math.sqrt(pairs), least_error)
    width = reach(level, pairs - 1) * error
    return Difference(value=mean, error=error, low=mean - width, high=mean + width, pairs=pairs, level=level)


def paired_rates(
    a: Sequence[Sequence[Count]], b: Sequence[Sequence[Count]], *, level: float = 0.95
) -> Difference | None:
    """The mean difference of pass rates. Each eval is one pair; its strata (subjects) are averaged within it first."""
    pairs = len(a)
    least = math.sqrt(_left_open(a) + _left_open(b)) / pairs if pairs else 0.0
    found = paired_difference([_mean_rate(c) for c in a], [_mean_rate(c) for c in b], level=level, least_error=least)
    if found is None:
        return None
    return Difference(
        value=found.value,
        error=found.error,
        low=max(-1.0, found.low),
        high=min(1.0, found.high),
        pairs=pairs,
        level=level,
    )


def _mean_rate(strata: Sequence[Count]) -> float:
    return math.fsum(passed / judged for passed, judged in strata) / len(strata)


def _left_open(evals: Sequence[Sequence[Count]]) -> float:
    """The variance of the sum of the evals' rates that the counts alone leave open."""
    passed = sum(c for strata in evals for c, _ in strata)
    judged = sum(n for strata in evals for _, n in strata)
    mean = (passed + 0.5) / (judged + 1)
    total = 0.0
    for strata in evals:
        for c, n in strata:
            rate = (c + mean) / (n + 1)
            total += rate * (1 - rate) / n / len(strata) ** 2
    return total
