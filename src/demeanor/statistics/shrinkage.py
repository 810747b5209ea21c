"""Shrinkage: a common prior of the rates of many evals makes the estimate of each more precise.

The rates are assumed to come from one beta distribution, which is fitted to all counts (empirical Bayes, by marginal
likelihood). The trials of an eval then update this prior. With 21 trials per eval, the estimates are about as precise
as with three times the trials.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from demeanor.statistics.beta_binomial import Prior

_GOLDEN = (math.sqrt(5) - 1) / 2
_STEPS = 32
_MIN_WEIGHT, _MAX_WEIGHT = 0.5, 2000.0
_ALIKE, _MEAN = 100.0, 0.5
"""What is likely beforehand: a correlation between the trials of an eval of about 1/100 (exponential), and any mean but
0 and 1 (a power of both shares)."""

_MAX_LOGIT = 7.0


def fit_prior(counts: Sequence[tuple[float, float]]) -> Prior:
    """The beta distribution with the highest likelihood of these counts (passed, judged).

    Few trials show neither how much the rates differ nor how rare a failure is. So a small difference, up to the weight
    of 2000 trials, is likelier than a large one, and a mean of 0 or 1 is excluded.
    """
    seen = [(passed, judged) for passed, judged in counts if judged]
    if not seen:
        raise ValueError(f"counts={list(counts)!r}: at least one eval must have a trial")
    passes, fails = Counter(c for c, _ in seen), Counter(n - c for c, n in seen)
    trials = Counter(n for _, n in seen)

    def prior(logit: float, log_weight: float) -> Prior:
        mean, weight = 1 / (1 + math.exp(-logit)), math.exp(log_weight)
        return Prior(mean * weight, (1 - mean) * weight)

    def likelihood(logit: float, log_weight: float) -> float:
        a, b = prior(logit, log_weight)
        fit = _log_rising(passes, a) + _log_rising(fails, b) - _log_rising(trials, a + b)
        return fit - _ALIKE / (a + b + 1) + _MEAN * (math.log(a / (a + b)) + math.log(b / (a + b)))

    def best_logit(log_weight: float) -> float:
        return _maximize(lambda logit: likelihood(logit, log_weight), -_MAX_LOGIT, _MAX_LOGIT)

    log_weight = _maximize(
        lambda log_weight: likelihood(best_logit(log_weight), log_weight), math.log(_MIN_WEIGHT), math.log(_MAX_WEIGHT)
    )
    return prior(best_logit(log_weight), log_weight)


def _log_rising(counts: Mapping[float, int], start: float) -> float:
    """The logarithm of start · (start+1) · … once for each count, summed."""
    base = math.lgamma(start)
    return math.fsum(times * (math.lgamma(start + count) - base) for count, times in counts.items())


def _maximize(function: Callable[[float], float], low: float, high: float) -> float:
    """The argument that maximizes a unimodal function, by golden-section search."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    for _ in range(_STEPS):
        if at_left >= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2
