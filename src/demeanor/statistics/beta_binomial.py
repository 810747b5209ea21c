"""How many of n trials pass, if the rate itself is known from earlier trials only.

This is what makes a small history honest: three passes of three foretell the next ten far less firmly than sixty of
sixty do, and the predictive p-value says by how much.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class Prior(NamedTuple):
    """A belief about a rate, worth `a` passes and `b` fails."""

    a: float
    """Passes, as it were."""

    b: float
    """Fails, as it were."""

    def after(self, passed: int, failed: int) -> Prior:
        """The belief after seeing these trials."""
        return Prior(self.a + passed, self.b + failed)

    @property
    def mean(self) -> float:
        """The rate to expect."""
        return self.a / (self.a + self.b)


JEFFREYS = Prior(0.5, 0.5)
"""What to believe where nothing is known."""


def exactly(passed: int, judged: int, belief: Prior) -> float:
    """The chance of `passed` passes among `judged` trials to come."""
    if not 0 <= passed <= judged:
        return 0.0
    failed = judged - passed
    ways = math.lgamma(judged + 1) - math.lgamma(passed + 1) - math.lgamma(failed + 1)
    return math.exp(ways + _log_beta(belief.a + passed, belief.b + failed) - _log_beta(belief.a, belief.b))


def at_most(passed: int, judged: int, belief: Prior) -> float:
    """The chance of `passed` passes or fewer among `judged` trials to come: the predictive p-value of a fall."""
    if judged < 0:
        raise ValueError(f"judged={judged}: there can't be fewer than no trials")
    # The shorter tail is summed: fewer terms, and no loss of digits in a small p-value.
    if passed < judged / 2:
        return min(1.0, math.fsum(exactly(k, judged, belief) for k in range(passed + 1)))
    return max(0.0, 1.0 - math.fsum(exactly(k, judged, belief) for k in range(passed + 1, judged + 1)))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
