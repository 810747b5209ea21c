"""What the rates of many evals have in common, to steady the estimate of each.

The rates are taken as drawn from one beta distribution, which is fitted to all counts at once (empirical Bayes, by
marginal likelihood). Each eval's own trials then move it from there: with 21 trials per eval this is worth about as
much as three times the trials.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from demeanor.statistics.beta_binomial import Prior

_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 32
_LEAST_WORTH, _MOST_WORTH = 0.5, 2000.0
_LEAST_SHARE = 0.5
_FARTHEST_LOGIT = 7.0


def fit_prior(counts: Sequence[tuple[int, int]]) -> Prior:
    """The beta distribution under which these counts (passed, judged) are most likely.

    Counts that are all alike would make it certain of something, so it is worth at most 2000 trials, and at least half
    a pass and half a fail: never surer of 0 or 1 than somebody who knows nothing.
    """
    seen = [(passed, judged) for passed, judged in counts if judged]
    if not seen:
        raise ValueError(f"counts={list(counts)!r}: there must be an eval with at least one trial")
    passes, fails = Counter(c for c, _ in seen), Counter(n - c for c, n in seen)
    trials = Counter(n for _, n in seen)

    def prior(logit: float, log_worth: float) -> Prior:
        mean, worth = 1 / (1 + math.exp(-logit)), math.exp(log_worth)
        return Prior(mean * worth, (1 - mean) * worth)

    def likelihood(logit: float, log_worth: float) -> float:
        a, b = prior(logit, log_worth)
        return _rises(passes, a) + _rises(fails, b) - _rises(trials, a + b)

    def best_logit(log_worth: float) -> float:
        return _highest(lambda logit: likelihood(logit, log_worth), -_FARTHEST_LOGIT, _FARTHEST_LOGIT)

    log_worth = _highest(
        lambda log_worth: likelihood(best_logit(log_worth), log_worth), math.log(_LEAST_WORTH), math.log(_MOST_WORTH)
    )
    found = prior(best_logit(log_worth), log_worth)
    return Prior(max(_LEAST_SHARE, found.a), max(_LEAST_SHARE, found.b))


def _rises(counts: Mapping[int, int], start: float) -> float:
    """The logarithm of start · (start+1) · … once for each count, summed."""
    base = math.lgamma(start)
    return math.fsum(times * (math.lgamma(start + count) - base) for count, times in counts.items())


def _highest(height: Callable[[float], float], low: float, high: float) -> float:
    """Where `height`, which has one summit, is highest: by golden section."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = height(left), height(right)
    for _ in range(_STEPS):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = height(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = height(right)
    return (low + high) / 2
