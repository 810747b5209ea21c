"""Probabilities as percentages with two significant digits, never rounded to 0 % or 100 %."""

from __future__ import annotations


def share(value: float) -> str:
    """`0.81 %`, `4.5 %`, `16 %`; only exactly 0 and 1 are shown as 0 % and 100 %."""
    if value in (0.0, 1.0):
        return f"{value * 100:.0f} %"
    if value > 0.9995:
        return ">99.9 %"
    if value < 0.0001:
        return "<0.01 %"
    if value < 0.0095:
        return f"{value * 100:.2f} %"
    if value < 0.095 or value > 0.985:
        return f"{value * 100:.1f} %"
    return f"{value * 100:.0f} %"


def rate(value: float) -> str:
    """`95 %`, `99.5 %`: a given rate, not rounded."""
    return f"{value * 100:.4g} %"
