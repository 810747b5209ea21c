"""What a piece of work of many runs may spend in all, and what of it is left."""

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
    """What was said where an attempt ended because the budget of its run was spent; None where none did."""
    for record in records:
        verdict = record.verdict
        if isinstance(verdict, Void) and verdict.cause is VoidCause.BUDGET and "budget of the run" in verdict.detail:
            return verdict.reason
    return None


@dataclass(kw_only=True)
class RunBudget:
    """A budget for several runs."""

    limit_usd: float | None = None
    """What may be spent; None means any amount."""

    used: list[Spent] = field(default_factory=list)
    """What every attempt so far used."""

    empty: bool = False
    """Whether a run was told that its budget is spent. What its last attempt cost may not be known to anybody."""

    def pay(self, records: Sequence[Record]) -> None:
        """Take note of what some attempts used."""
        self.used += [record.spent for record in records]
        self.empty = self.empty or out_of_money(records) is not None

    @property
    def total(self) -> Total:
        """All that was used."""
        return total(self.used)

    def paid(self, request: RunRequest) -> RunRequest:
        """A request that may spend what is left; raises NothingLeft where nothing is."""
        if self.limit_usd is None:
            return request
        left = self.limit_usd - (self.total.spent.cost_usd or 0.0)
        if left <= 0 or self.empty:
            raise BudgetSpent(f"the budget of ${self.limit_usd:g} is spent")
        return replace(request, budget_usd=left)
