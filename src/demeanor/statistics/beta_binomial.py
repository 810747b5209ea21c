"""The beta-binomial distribution: passes in n trials, if the rate is known only from earlier trials.

It takes the size of a history into account: three passes of three predict the next ten trials far less precisely than
sixty of sixty.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Prior(NamedTuple):
    """A beta prior of a rate, equivalent to `a` passes and `b` fails."""

    a: float
    """Pseudo-count of passes."""

    b: float
    """Pseudo-count of fails."""

    def after(self, passed: float, failed: float) -> Prior:
        """The posterior after these trials."""
        return Prior(self.a + passed, self.b + failed)

    def at_most(self, passed: int, judged: int) -> float:
        """The probability of `passed` passes or fewer in `judged` future trials."""
        return at_most(passed, judged, self)

    @property
    def mean(self) -> float:
        """The expected rate."""
        return self.a / (self.a + self.b)


JEFFREYS = Prior(0.5, 0.5)
"""The uninformative prior."""


def exactly(passed: int, judged: int, prior: Prior) -> float:
    """The probability of `passed` passes in `judged` future trials."""
    if not 0 <= passed <= judged:
        return 0.0
    failed = judged - passed
    ways = math.lgamma(judged + 1) - math.lgamma(passed + 1) - math.lgamma(failed + 1)
    return math.exp(ways + _log_beta(prior.a + passed, prior.b + failed) - _log_beta(prior.a, prior.b))


def at_most(passed: int, judged: int, prior: Prior) -> float:
    """The probability of `passed` passes or fewer in `judged` future trials: the predictive p-value of a decrease."""
    if judged < 0:
        raise ValueError(f"judged={judged}: judged must be at least 0")
    # Sum the shorter tail: fewer terms, and a small p-value keeps its precision.
    if passed < judged / 2:
        return min(1.0, math.fsum(exactly(k, judged, prior) for k in range(passed + 1)))
    return max(0.0, 1.0 - math.fsum(exactly(k, judged, prior) for k in range(passed + 1, judged + 1)))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
