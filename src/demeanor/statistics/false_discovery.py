"""Many tests at once: which small p-values are small enough (Benjamini and Hochberg 1995)."""

from __future__ import annotations

from collections.abc import Sequence


def adjusted(p_values: Sequence[float]) -> list[float]:
    """The p-values, raised for being many: those at most q hold, on average, a share of at most q false alarms."""
    if any(not 0 <= p <= 1 for p in p_values):
        raise ValueError(f"p_values={list(p_values)!r}: each lies between 0 and 1")
    family = len(p_values)
    order = sorted(range(family), key=lambda index: p_values[index])
    raised, least = [1.0] * family, 1.0
    for rank in range(family, 0, -1):
        index = order[rank - 1]
        least = min(least, p_values[index] * family / rank)
        raised[index] = least
    return raised
