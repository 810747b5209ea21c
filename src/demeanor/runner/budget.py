"""A budget that several runs of one command share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from demeanor.core.evidence import Spent
from demeanor.core.record import Record
from demeanor.core.run_request import RunRequest
from demeanor.core.usage import Total, total
from demeanor.core.verdict import Void, VoidCause


class BudgetSpent(Exception):
    """The budget is spent."""


def out_of_money(records: Iterable[Record]) -> str | None:
    """Why an attempt ended if the budget of its run was spent; None if none was stopped by it."""
    for record in records:
        verdict = record.verdict
        if isinstance(verdict, Void) and verdict.cause is VoidCause.BUDGET and "budget of the run" in verdict.detail:
            return verdict.reason
    return None


@dataclass(kw_only=True)
class RunBudget:
    """A budget that several runs share."""

    limit_usd: float | None = None
    """What may be spent in all; None for no limit."""

    used: list[Spent] = field(default_factory=list)
    """What every attempt has used so far."""

    empty: bool = False
    """Whether a run was stopped by its budget, even if the cost of its last attempt is unknown."""

    def add(self, records: Sequence[Record]) -> None:
        """Add what some attempts used."""
        self.used += [record.spent for record in records]
        self.empty = self.empty or out_of_money(records) is not None

    @property
    def total(self) -> Total:
        """What all attempts have used."""
        return total(self.used)

    def limited(self, request: RunRequest) -> RunRequest:
        """The request, limited to what is left; raises BudgetSpent if nothing is."""
        if self.limit_usd is None:
            return request
        left = self.limit_usd - (self.total.spent.cost_usd or 0.0)
        if left <= 0 or self.empty:
            raise BudgetSpent(f"the budget of ${self.limit_usd:g} is spent")
        return replace(request, budget_usd=left)
