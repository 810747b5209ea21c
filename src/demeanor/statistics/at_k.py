"""pass@k and pass^k: the probability that at least one of k trials passes, and that all of them pass.

With more than k trials, the unbiased estimators average over all choices of k of them. With no more, these could only
say 0 or 100 %, or nothing at all; then the observed rate is taken for the true one (the plug-in estimate).
"""

from __future__ import annotations

from math import comb


def pass_at_k(judged: int, passed: int, k: int) -> float | None:
    """The probability that at least one of `k` trials passes (unbiased: Chen et al. 2021); None without a trial."""
    _validate(judged, passed, k)
    if judged == 0:
        return None
    if is_rough(judged, k):
        return 1 - (1 - passed / judged) ** k
    choices = comb(judged, k)
    return (choices - comb(judged - passed, k)) / choices


def pass_hat_k(judged: int, passed: int, k: int) -> float | None:
    """The probability that all of `k` trials pass (unbiased: Yao et al. 2024); None without a trial."""
    _validate(judged, passed, k)
    if judged == 0:
        return None
    if is_rough(judged, k):
        return (passed / judged) ** k
    return comb(passed, k) / comb(judged, k)


def is_rough(judged: int, k: int) -> bool:
    """Whether so few trials were judged that only the plug-in estimate is possible, which reports mark with `~`."""
    return 0 < judged <= k > 1


def _validate(judged: int, passed: int, k: int) -> None:
    if not 0 <= passed <= judged:
        raise ValueError(f"passed={passed} of judged={judged}: passed must be between 0 and judged")
    if k < 1:
        raise ValueError(f"k={k}: k must be at least 1")
