"""The beta distribution, which exact intervals of a rate are based on."""

from __future__ import annotations

import math

_TINY = 1e-300
_STEPS = 500


def cdf(x: float, a: float, b: float) -> float:
    """The probability that a Beta(a, b) variable is at most `x`: the regularised incomplete beta function."""
    if a <= 0 or b <= 0:
        raise ValueError(f"a={a}, b={b}: both must be above 0")
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    # The continued fraction converges quickly only on this side of the mean; the other side is its mirror image.
    if x > (a + 1) / (a + b + 2):
        return 1.0 - cdf(1.0 - x, b, a)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) / (a * _continued_fraction(x, a, b))


def quantile(q: float, a: float, b: float) -> float:
    """The `x` with `cdf(x, a, b) == q`, by bisection to full precision."""
    if not 0 <= q <= 1:
        raise ValueError(f"q={q}: q must be between 0 and 1")
    low, high = 0.0, 1.0
    while True:
        middle = (low + high) / 2
        if middle in (low, high):
            return middle
        if cdf(middle, a, b) < q:
            low = middle
        else:
            high = middle


def _continued_fraction(x: float, a: float, b: float) -> float:
    """1 + d1/(1 + d2/(1 + …)), by Lentz's method."""
    value, numerator, denominator = 1.0, 1.0, 0.0
    for step in range(1, _STEPS):
        term = _coefficient(step, x, a, b)
        denominator = 1.0 / _away_from_zero(1.0 + term * denominator)
        numerator = _away_from_zero(1.0 + term / numerator)
        change = numerator * denominator
        value *= change
        if abs(change - 1.0) < 1e-15:
            return value
    raise ArithmeticError(f"the incomplete beta function did not converge at x={x}, a={a}, b={b}")


def _coefficient(step: int, x: float, a: float, b: float) -> float:
    half = step // 2
    if step % 2:
        return -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
    return half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY
