"""Budgets of a trial, an eval and a run. When a budget is spent, the gateway refuses further requests.

Before a request is sent, the most that it may cost is reserved. A request that might exceed a budget waits until the
other open requests of its trial have ended; a request that is alone is sent, and completed, as long as anything is
left. So each running trial can overspend a budget by one exchange, and by nothing else.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from demeanor.gateway.models.upstream import estimated_tokens

if TYPE_CHECKING:
    from demeanor.core.values.exchange import Request, Usage
    from demeanor.gateway.models.prices import Price

UNSTATED_OUTPUT = 32_768
"""Tokens that are reserved for an answer whose length the request does not limit."""


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


@dataclass(frozen=True, kw_only=True, slots=True)
class Charge:
    """Tokens and dollars that an exchange costs, or may cost."""

    tokens: int = 0
    """Tokens in both directions."""

    usd: float = 0.0
    """US dollars; 0 if the price is unknown."""


def amount(sent: int, received: int, price: Price | None) -> Charge:
    """So many tokens of a request and of its answer, at their price without a cache."""
    rates = price.at(sent) if price else None
    usd = (sent * rates.input + received * rates.output) / 1_000_000 if rates else 0.0
    return Charge(tokens=sent + received, usd=usd)


def most(request: Request, size: int, price: Price | None) -> Charge:
    """The most that a request of `size` bytes may cost."""
    limit = request.sampling.max_tokens
    answers = max((_answers(fields) for fields in request.extra.values()), default=1)
    return amount(estimated_tokens(size), answers * (UNSTATED_OUTPUT if limit is None else limit), price)


def tokens_of(usage: Usage, size: int, received: int) -> tuple[int, int]:
    """The tokens of a request of `size` bytes, and those of an answer of which `received` bytes arrived; what the
    provider did not count is estimated."""
    sent = estimated_tokens(size) if usage.input is None else usage.input
    return sent, estimated_tokens(received) if usage.output is None else usage.output


def _answers(fields: object) -> int:
    """How many answers a request asks for, in the dialects that have several."""
    if not isinstance(fields, dict):
        return 1
    settings = fields.get("generationConfig")
    number = fields.get("n") or (settings.get("candidateCount") if isinstance(settings, dict) else None)
    return number if isinstance(number, int) and number > 0 else 1


class BudgetAccount:
    """What was spent of a budget. A trial's account has its eval's as its parent, and that one the run's."""

    def __init__(self, name: str, budget: Budget, parent: BudgetAccount | None = None) -> None:
        self.name = name
        self.budget = budget
        self.parent = parent
        self.tokens = 0
        self.usd = 0.0
        self._reserved: dict[object, Charge] = {}
        self._ended = asyncio.Event()

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

    @asynccontextmanager
    async def reserve(self, most: Charge, *, free: bool = False) -> AsyncIterator[str | None]:
        """Reserve an amount for an exchange until the end of the block, once it fits beside those of the other open
        exchanges of this account, or these have ended; or yield which budget is spent, as `exhausted` does."""
        while (spent := self.exhausted(free=free)) is None and self._reserved and not self._fits(most, free=free):
            self._ended.clear()
            await self._ended.wait()
        if spent is not None:
            yield spent
            return
        exchange = object()
        for account in self._with_parents():
            account._reserved[exchange] = most
        try:
            yield None
        finally:
            for account in self._with_parents():
                del account._reserved[exchange]
            self._ended.set()

    def has_usd_limit(self) -> bool:
        """Whether this account or a parent has a limit in US dollars."""
        return self.budget.usd is not None or (self.parent is not None and self.parent.has_usd_limit())

    def _with_parents(self) -> Iterator[BudgetAccount]:
        yield self
        if self.parent:
            yield from self.parent._with_parents()

    def _fits(self, most: Charge, *, free: bool) -> bool:
        return all(account._own_fits(most, free=free) for account in self._with_parents())

    def _own_fits(self, most: Charge, *, free: bool) -> bool:
        tokens = self.tokens + most.tokens + sum(other.tokens for other in self._reserved.values())
        usd = self.usd + most.usd + math.fsum(other.usd for other in self._reserved.values())
        enough = self.budget.tokens is None or tokens <= self.budget.tokens
        return enough and (self.budget.usd is None or free or usd <= self.budget.usd)
