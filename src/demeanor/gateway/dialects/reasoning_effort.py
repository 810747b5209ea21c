"""How much to think, in a word or in tokens: some dialects count, others name it."""

from __future__ import annotations

from demeanor.core.exchange import Reasoning

BUDGETS = {"none": 0, "minimal": 1024, "low": 4096, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 32768}
"""Tokens for each word. The words have no agreed size; these are in the range that providers document."""


def budget_of(reasoning: Reasoning) -> int | None:
    """Tokens to think with; 0 for none at all, None where the provider is to decide."""
    if reasoning.budget is not None:
        return reasoning.budget if reasoning.budget >= 0 else None
    return BUDGETS.get(reasoning.effort or "")


def effort_of(reasoning: Reasoning) -> str | None:
    """The word for how much to think."""
    if reasoning.effort is not None or reasoning.budget is None or reasoning.budget < 0:
        return reasoning.effort
    return next((word for word, budget in BUDGETS.items() if reasoning.budget <= budget), "high")
