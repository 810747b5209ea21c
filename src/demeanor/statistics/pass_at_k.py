"""pass@k and pass^k: would one of k trials pass, would all of them?

The unbiased estimators ask it of every choice of k among the n trials seen, so they need n >= k and are *not defined*
(None, never 0) below that. The plug-in forms put the rate seen into the formula for the true one: defined for any k,
but pass@k comes out too low and pass^k too high on average. Where they are shown they must be labelled.
"""

from __future__ import annotations

from math import comb


def pass_at_k(judged: int, passed: int, k: int) -> float | None:
    """The probability that at least one of `k` trials passes, unbiased (Chen et al. 2021); None where judged < k."""
    _validate(judged, passed, k)
    if judged < k:
        return None
    choices = comb(judged, k)
    return (choices - comb(judged - passed, k)) / choices


def pass_hat_k(judged: int, passed: int, k: int) -> float | None:
    """The probability that all of `k` trials pass, unbiased (Yao et al. 2024); None where judged < k."""
    _validate(judged, passed, k)
    if judged < k:
        return None
    return comb(passed, k) / comb(judged, k)


def plug_in_pass_at_k(judged: int, passed: int, k: int) -> float | None:
    """1 - (1 - rate)^k: too low on average, but defined for any k; None where nothing was judged."""
    _validate(judged, passed, k)
    return 1 - ((judged - passed) / judged) ** k if judged else None


def plug_in_pass_hat_k(judged: int, passed: int, k: int) -> float | None:
    """rate^k: too high on average, but defined for any k; None where nothing was judged."""
    _validate(judged, passed, k)
    return (passed / judged) ** k if judged else None


def _validate(judged: int, passed: int, k: int) -> None:
    if not 0 <= passed <= judged:
        raise ValueError(f"passed={passed} of judged={judged}: there can't be more passes than trials")
    if k < 1:
        raise ValueError(f"k={k}: at least one trial must be asked for")
