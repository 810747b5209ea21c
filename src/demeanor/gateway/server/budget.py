"""What a trial, an eval and a run may spend. When a purse is empty the gateway answers with an error instead.

A request is refused when the purse is already empty as it arrives; what is under way is let through, so a budget can be
overspent by the exchanges that were open at that moment, and never by more.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """A limit; None means none."""

    tokens: int | None = None
    """Tokens in both directions."""

    usd: float | None = None
    """US dollars."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Budgets:
    """The limits of one run."""

    trial: Budget = field(default_factory=Budget)
    """For one attempt at one trial."""

    eval: Budget = field(default_factory=Budget)
    """For all trials of one eval."""

    run: Budget = field(default_factory=Budget)
    """For everything."""


class BudgetAccount:
    """What was spent of a budget; a trial's purse hangs on its eval's, and that on the run's."""

    def __init__(self, name: str, budget: Budget, parent: BudgetAccount | None = None) -> None:
        self.name = name
        self.budget = budget
        self.parent = parent
        self.tokens = 0
        self.usd = 0.0

    def spend(self, tokens: int, usd: float | None) -> None:
        """Take this out of this purse and of all that it hangs on; an unknown cost takes tokens only."""
        self.tokens += tokens
        self.usd += usd or 0.0
        if self.parent:
            self.parent.spend(tokens, usd)

    def empty(self, *, free: bool = False) -> str | None:
        """Which budget is spent, for a person; None where something is left. What is free needs no dollars."""
        if self.budget.tokens is not None and self.tokens >= self.budget.tokens:
            return f"the budget of {self.name} is spent: {self.tokens} of {self.budget.tokens} tokens"
        if self.budget.usd is not None and self.usd >= self.budget.usd and not free:
            return f"the budget of {self.name} is spent: ${self.usd:.4f} of ${self.budget.usd:.4f}"
        return self.parent.empty(free=free) if self.parent else None

    def counts_usd(self) -> bool:
        """Whether any purse on the way up has a limit in US dollars."""
        return self.budget.usd is not None or (self.parent is not None and self.parent.counts_usd())
