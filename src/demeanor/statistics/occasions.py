"""Trials of one occasion (a night, a gate) are alike: a hosted model has good and bad hours.

On each occasion a cell has another rate, from a beta distribution around its own. Of two trials of one occasion the
outcomes then have the correlation ρ, and their passes follow the beta-binomial distribution: Pólya's urn, to which
every outcome adds another one of its kind. With ρ = 0 all trials are independent.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, prod


def next_pass(passed: int, failed: int, rate: float, correlation: float) -> float:
    """The probability that the next trial passes, after these of the same occasion."""
    own = 1 - correlation
    return (rate * own + correlation * passed) / (own + correlation * (passed + failed))


@lru_cache(maxsize=65536)
def likelihood(passed: int, failed: int, rate: float, correlation: float) -> float:
    """The probability of these outcomes of one occasion, in one given order."""
    if correlation == 0:
        return float(rate**passed * (1 - rate) ** failed)
    own = 1 - correlation
    good = prod(rate * own + correlation * k for k in range(passed))
    bad = prod((1 - rate) * own + correlation * k for k in range(failed))
    return good * bad / prod(own + correlation * k for k in range(passed + failed))


def occasion(judged: int, rate: float, correlation: float) -> list[float]:
    """The probabilities of 0, 1, 2 … `judged` passes on one occasion."""
    return [
        comb(judged, passed) * likelihood(passed, judged - passed, rate, correlation) for passed in range(judged + 1)
    ]


def effective(trials: float, correlation: float) -> float:
    """How many independent trials say as much as one of so many that share an occasion: at most 1."""
    return 1 / (1 + max(0.0, trials - 1) * correlation)


def combined(*correlations: float) -> float:
    """The correlation if a rate varies for several reasons, each of which varies what the others leave."""
    return 1 - prod(1 - value for value in correlations)
