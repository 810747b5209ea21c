"""Budgets of a trial, an eval and a run. When a budget is spent, the gateway refuses further requests.

A request is refused if the budget is already spent when it arrives. Requests in progress are completed, so the
exchanges that were open at that moment can overspend the budget, but nothing else can.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """A limit on tokens and dollars; None means unlimited."""

    tokens: int | None = None
    """Tokens in both directions."""

    usd: float | None = None
    """US dollars."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budgets:
    """The budgets of one run."""

    trial: Budget = field(default_factory=Budget)
    """For one attempt at one trial."""

    eval: Budget = field(default_factory=Budget)
    """For all trials of one eval."""

    run: Budget = field(default_factory=Budget)
    """For the whole run."""


class BudgetAccount:
    """What was spent of a budget. A trial's account has its eval's as its parent, and that one the run's."""

    def __init__(self, name: str, budget: Budget, parent: BudgetAccount | None = None) -> None:
        self.name = name
        self.budget = budget
        self.parent = parent
        self.tokens = 0
        self.usd = 0.0

    def spend(self, tokens: int, usd: float | None) -> None:
        """Charge this account and its parents; an unknown cost charges tokens only."""
        self.tokens += tokens
        self.usd += usd or 0.0
        if self.parent:
            self.parent.spend(tokens, usd)

    def exhausted(self, *, free: bool = False) -> str | None:
        """A message that says which budget is spent; None if none is. A free model ignores limits in dollars."""
        return self.own_exhausted(free=free) or (self.parent.exhausted(free=free) if self.parent else None)

    def own_exhausted(self, *, free: bool = False) -> str | None:
        """The same for this account alone, without its parents."""
        if self.budget.tokens is not None and self.tokens >= self.budget.tokens:
            return f"the budget of {self.name} is spent: {self.tokens} of {self.budget.tokens} tokens"
        if self.budget.usd is not None and self.usd >= self.budget.usd and not free:
            return f"the budget of {self.name} is spent: ${self.usd:.4f} of ${self.budget.usd:.4f}"
        return None

    def has_usd_limit(self) -> bool:
        """Whether this account or a parent has a limit in US dollars."""
        return self.budget.usd is not None or (self.parent is not None and self.parent.has_usd_limit())
