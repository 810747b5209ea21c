"""How alike are the trials of one night? The correlation ρ, estimated from the nights of many cells together.

Only the spread of failures over a cell's nights tells: three failures in one night, and none in four others, or one in
each of three. So the likelihood is that of the nights given their total, and a cell's own rate, which few nights hardly
show, biases nothing. It updates a prior, which decides while there are few failures: hosted models do have bad days.

The nights of a cell are taken in stretches of a few, so that a change of its rate, or a slow drift, spoils only one of
them. Assumed: one ρ for the whole suite, and cells whose nights are bad independently of one another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, fsum, log

from demeanor.statistics.occasions import occasion

STRETCH = 5
"""The nights of a cell that are compared with one another."""

_GRID = tuple(step / 50 for step in range(31))
_PRIOR = tuple(exp(-rho / 0.08) for rho in _GRID)
_TAIL = 0.025
_MOST_CELLS = 200
"""So many cells that both passed and failed are enough, and take less than a second."""

_PSEUDO_TRIALS = 5
"""A cell's rate, which matters little here, is shrunk to that of the suite by so many trials."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightCorrelation:
    """The correlation of the trials of one night, with its interval (95 %)."""

    value: float
    """The estimate, in hundredths."""

    low: float
    """The lower end of its interval."""

    high: float
    """The upper end of its interval."""

    nights: int = 0
    """The nights of cells that it is estimated from."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What is assumed of the trials, for reports; nothing if there is no night."""
        if not self.nights:
            return ()
        interval = f"{self.low:.2f} to {self.high:.2f}"
        return (
            f"assumed: trials of one night have a correlation of {self.value:.2f} ({interval}, by the last nights)",
        )


INDEPENDENT = NightCorrelation(value=0.0, low=0.0, high=_GRID[-1])
"""Without nights nothing is known of it, and trials are taken as independent."""


def night_correlation(cells: Iterable[Sequence[tuple[int, int]]]) -> NightCorrelation:
    """The estimate from (passed, judged) per night, oldest first, for each cell; 0 if there is no night."""
    judged = [[night for night in cell if night[1]] for cell in cells]
    suite = [sum(part) for part in zip(*(night for cell in judged for night in cell), strict=True)] or [0, 0]
    mean_rate = (suite[0] + 0.5) / (suite[1] + 1)
    stretches: Counter[tuple[float, tuple[tuple[int, int], ...]]] = Counter()
    mixed = [cell for cell in judged if 0 < sum(good for good, _ in cell) < sum(n for _, n in cell)]
    for cell in mixed[:: -(-len(mixed) // _MOST_CELLS) or 1]:
        passed, trials = sum(good for good, _ in cell), sum(n for _, n in cell)
        rate = round((passed + mean_rate * _PSEUDO_TRIALS) / (trials + _PSEUDO_TRIALS), 2)
        for start in range(0, len(cell), STRETCH):
            stretches[min(0.99, max(0.01, rate)), tuple(sorted(cell[start : start + STRETCH]))] += 1
    nights = sum(map(len, judged))
    if not nights:
        return INDEPENDENT
    logs = [
        log(prior) + fsum(times * _log_spread(stretch, rate, rho) for (rate, stretch), times in stretches.items())
        for rho, prior in zip(_GRID, _PRIOR, strict=True)
    ]
    weights = [exp(logarithm - max(logs)) for logarithm in logs]
    mean = fsum(rho * weight for rho, weight in zip(_GRID, weights, strict=True)) / fsum(weights)
    return NightCorrelation(
        value=round(mean, 2), low=_quantile(weights, _TAIL), high=_quantile(weights, 1 - _TAIL), nights=nights
    )


@lru_cache(maxsize=65536)
def _log_spread(nights: tuple[tuple[int, int], ...], rate: float, rho: float) -> float:
    """The logarithm of the probability of these nights, given the sum of their failures."""
    failed, judged = sum(n - good for good, n in nights), sum(n for _, n in nights)
    if not 0 < failed < judged or all(n == 1 for _, n in nights):
        return 0.0
    total, own = [1.0], 0.0
    for good, n in nights:
        chances = occasion(n, 1 - rate, rho)
        own += log(chances[n - good])
        total = [
            fsum(
                total[before] * chances[failures - before]
                for before in range(max(0, failures - n), min(failures, len(total) - 1) + 1)
            )
            for failures in range(min(failed, len(total) - 1 + n) + 1)
        ]
    return own - log(total[failed])


def _quantile(weights: Sequence[float], share: float) -> float:
    target, total = share * fsum(weights), 0.0
    for rho, weight in zip(_GRID, weights, strict=True):
        total += weight
        if total >= target:
            return rho
    return _GRID[-1]
