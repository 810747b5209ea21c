"""pass@k and pass^k: the probability that at least one of k trials passes, and that all of them pass.

The unbiased estimators average over all choices of k among n trials, so they need n >= k and are undefined (None, never
0) below that.
"""

from __future__ import annotations

from math import comb


def pass_at_k(judged: int, passed: int, k: int) -> float | None:
    """The probability that at least one of `k` trials passes, unbiased (Chen et al. 2021); None if judged < k."""
    _validate(judged, passed, k)
    if judged < k:
        return None
    choices = comb(judged, k)
    return (choices - comb(judged - passed, k)) / choices


def pass_hat_k(judged: int, passed: int, k: int) -> float | None:
    """The probability that all of `k` trials pass, unbiased (Yao et al. 2024); None if judged < k."""
    _validate(judged, passed, k)
    if judged < k:
        return None
    return comb(passed, k) / comb(judged, k)


def _validate(judged: int, passed: int, k: int) -> None:
    if not 0 <= passed <= judged:
        raise ValueError(f"passed={passed} of judged={judged}: passed must be between 0 and judged")
    if k < 1:
        raise ValueError(f"k={k}: k must be at least 1")
