"""Budgets of a run: which limits apply, what is spent, and a budget that several runs of one command share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from demeanor.config import Limit
from demeanor.core.values.errors import UsageError
from demeanor.core.values.evidence import Spent
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.subject import Subject
from demeanor.core.values.usage import RunningTotal, Total
from demeanor.core.values.verdict import Void, VoidCause

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.runner.catalog import Catalog


class BudgetSpent(Exception):
    """The budget is spent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StopConditions:
    """When a run ends before all of its trials are done."""

    fail_fast: bool = False
    """At the first failed trial."""

    budget_usd: float | None = None
    """When this much money is spent, earlier parts of a resumed run included."""

    budget_tokens: int | None = None
    """When this many tokens are used, earlier parts of a resumed run included."""

    def plus(self, spent: Spent) -> StopConditions:
        """The conditions, with budgets that are larger by what is already spent."""
        usd, tokens = self.budget_usd, self.budget_tokens
        return replace(
            self,
            budget_usd=None if usd is None else usd + (spent.cost_usd or 0.0),
            budget_tokens=None if tokens is None else tokens + (spent.tokens or 0),
        )


@dataclass(kw_only=True, slots=True)
class Spending:
    """What one run, or several that share a budget, have spent so far."""

    usd: float = 0.0
    """In US dollars; attempts of unknown cost add nothing."""

    tokens: int = 0
    """Tokens in both directions, as far as they are known."""

    def add(self, spent: Spent) -> None:
        """Add what an attempt used."""
        self.usd += spent.cost_usd or 0.0
        self.tokens += spent.tokens or 0

    def reached(self, limits: StopConditions) -> str | None:
        """Which budget is spent; None if none is."""
        if limits.budget_usd is not None and self.usd >= limits.budget_usd:
            return f"the budget of ${limits.budget_usd:g} is spent (${self.usd:.4f})"
        if limits.budget_tokens is not None and self.tokens >= limits.budget_tokens:
            return f"the budget of {limits.budget_tokens} tokens is spent ({self.tokens})"
        return None


def budget_limits(config: Config, request: RunRequest) -> dict[str, Limit]:
    """The budgets by scope: those of the configuration, and for the run what the request sets instead. A shard has an
    equal part of the run's budget."""
    run = config.budgets.get("run", Limit())
    usd = run.usd if request.budget_usd is None else request.budget_usd
    tokens = run.tokens if request.budget_tokens is None else request.budget_tokens
    if (shard := request.shard) is not None:
        usd = None if usd is None else usd / shard.of
        tokens = None if tokens is None else max(1, tokens // shard.of)
    return {**config.budgets, "run": Limit(usd=usd, tokens=tokens)}


def stop_conditions(config: Config, request: RunRequest) -> StopConditions:
    """When a run ends early, by its request or by the configuration."""
    run = budget_limits(config, request)["run"]
    return StopConditions(fail_fast=request.fail_fast, budget_usd=run.usd, budget_tokens=run.tokens)


def check_budgets(
    catalog: Catalog, subjects: Iterable[Subject], request: RunRequest, *, judges: Iterable[str] = ()
) -> None:
    """Refuse a budget in dollars if the price of a model is unknown: nothing would limit what it costs."""
    limited = [scope for scope, limit in budget_limits(catalog.config, request).items() if limit.usd is not None]
    if not limited or request.replay is not None:
        return
    asking = [subject for subject in subjects if catalog.of(subject).dialect is not None]
    used = {model for subject in asking for model in (subject.model, *catalog.also(subject.agent))} | set(judges)
    unpriced = sorted(model for model in used if catalog.models.model(model).price is None)
    if unpriced:
        option = "--budget" if request.budget_usd is not None else f"the budget of the {limited[0]} in US dollars"
        names = ", ".join(map(repr, unpriced))
        raise UsageError(
            f"{option} can't be kept: the price of {names} is unknown\n"
            f'  → set it in {catalog.config.where}: [models."{unpriced[0]}"] price = {{ input = …, output = … }} (US'
            " dollars per million tokens), or limit tokens instead: --budget 200000tokens"
        )


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
    """What may be spent in all, in US dollars; None for no limit."""

    limit_tokens: int | None = None
    """How many tokens may be used in all; None for no limit."""

    used: RunningTotal = field(default_factory=RunningTotal)
    """What all attempts have used so far."""

    empty: bool = False
    """Whether a run was stopped by its budget, even if the cost of its last attempt is unknown."""

    def add(self, records: Sequence[Record]) -> None:
        """Add what some attempts used."""
        for record in records:
            self.used.add(record.spent)
        self.empty = self.empty or out_of_money(records) is not None

    @property
    def total(self) -> Total:
        """What all attempts have used."""
        return self.used.value

    def reached(self) -> str | None:
        """Which limit is reached; None if none is."""
        if self.empty:
            return "the budget is spent"
        spent = self.total.spent
        spending = Spending(usd=spent.cost_usd or 0.0, tokens=spent.tokens or 0)
        return spending.reached(StopConditions(budget_usd=self.limit_usd, budget_tokens=self.limit_tokens))

    def limited(self, request: RunRequest) -> RunRequest:
        """The request, limited to what is left; raises BudgetSpent if nothing is."""
        if self.limit_usd is None and self.limit_tokens is None:
            return request
        if spent := self.reached():
            raise BudgetSpent(spent)
        used = self.total.spent
        usd = None if self.limit_usd is None else self.limit_usd - (used.cost_usd or 0.0)
        tokens = None if self.limit_tokens is None else self.limit_tokens - (used.tokens or 0)
        return replace(request, budget_usd=usd, budget_tokens=tokens)
