"""The false discovery rate of many tests (Benjamini and Hochberg 1995)."""

from __future__ import annotations

from collections.abc import Sequence


def adjusted(p_values: Sequence[float]) -> list[float]:
    """The adjusted p-values: of those that are at most q, on average at most the fraction q are false alarms."""
    if any(not 0 <= p <= 1 for p in p_values):
        raise ValueError(f"p_values={list(p_values)!r}: each must be between 0 and 1")
    family = len(p_values)
    order = sorted(range(family), key=lambda index: p_values[index])
    result, least = [1.0] * family, 1.0
    for rank in range(family, 0, -1):
        index = order[rank - 1]
        least = min(least, p_values[index] * family / rank)
        result[index] = least
    return result
