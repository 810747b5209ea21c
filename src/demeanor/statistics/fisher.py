"""Fisher's exact test, one-sided: is the second of two rates lower?"""

from __future__ import annotations

import math


def p_decrease(base_passed: int, base_judged: int, new_passed: int, new_judged: int) -> float:
    """The one-sided p-value of a decrease from the first rate to the second."""
    _validate(base_passed, base_judged, new_passed, new_judged)
    passed = base_passed + new_passed
    least = max(0, passed - base_judged)
    # Downwards from the observed result, each probability follows from the one before.
    chance = total = _chance(new_passed, passed, base_judged, new_judged)
    for k in range(new_passed, least, -1):
        chance *= k * (base_judged - passed + k) / ((new_judged - k + 1) * (passed - k + 1))
        total += chance
    return min(1.0, total)


def mid_p_decrease(base_passed: int, base_judged: int, new_passed: int, new_judged: int) -> float:
    """The mid-p value, with half the probability of the observed result: more power, but no guaranteed level."""
    whole = p_decrease(base_passed, base_judged, new_passed, new_judged)
    return whole - _chance(new_passed, base_passed + new_passed, base_judged, new_judged) / 2


def _chance(k: int, passed: int, base_judged: int, new_judged: int) -> float:
    """The probability that `k` of all passes are in the second sample."""
    chosen = _log_choose(new_judged, k) + _log_choose(base_judged, passed - k)
    return math.exp(chosen - _log_choose(base_judged + new_judged, passed))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)


def _validate(base_passed: int, base_judged: int, new_passed: int, new_judged: int) -> None:
    for passed, judged in ((base_passed, base_judged), (new_passed, new_judged)):
        if judged < 1 or not 0 <= passed <= judged:
            raise ValueError(
                f"passed={passed} of judged={judged}: judged must be at least 1, and passed between 0 and judged"
            )
