"""What a piece of work of many runs may spend in all, and what of it is left."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from holdfast.core.evidence import Spent
from holdfast.core.request import RunRequest
from holdfast.report.spending import Total, total


class NothingLeft(Exception):
    """The budget is spent."""


@dataclass(kw_only=True)
class Purse:
    """A budget for several runs."""

    limit_usd: float | None = None
    """What may be spent; None means any amount."""

    used: list[Spent] = field(default_factory=list)
    """What every attempt so far used."""

    def pay(self, parts: Iterable[Spent]) -> None:
        """Take note of what was used."""
        self.used += parts

    @property
    def total(self) -> Total:
        """All that was used."""
        return total(self.used)

    def paid(self, request: RunRequest) -> RunRequest:
        """A request that may spend what is left; raises NothingLeft where nothing is."""
        if self.limit_usd is None:
            return request
        left = self.limit_usd - (self.total.spent.cost_usd or 0.0)
        if left <= 0:
            raise NothingLeft(f"the budget of ${self.limit_usd:g} is spent")
        return replace(request, budget_usd=left)
