"""What a plan will probably cost, for `--dry-run`: the tokens of earlier runs of the same eval and subject, at the
present prices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path

from demeanor.config import Config
from demeanor.core.text.wording import count
from demeanor.core.values.errors import StoreError
from demeanor.core.values.evidence import Spent
from demeanor.core.values.history import ModelUse, RunCell
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Cell, Plan
from demeanor.gateway.models import Price, cost
from demeanor.render import numbers
from demeanor.results.history import open_project_history
from demeanor.runner import Catalog, budget_limits
from demeanor.store.history import SqlHistory

_RUNS = 5
"""The estimate of a cell is made from this many runs, the last ones."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellEstimate:
    """What all trials of a cell will probably use; None for a quantity that no earlier run knows."""

    cost_usd: float | None = None
    """US dollars."""

    tokens: int | None = None
    """Tokens in both directions."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanEstimate:
    """What a plan will probably use."""

    cells: Mapping[str, CellEstimate]
    """By the id of the cell; skipped cells are left out."""

    text: str
    """One line for people."""

    @property
    def cost_usd(self) -> float | None:
        """US dollars, as far as earlier runs tell; None if none does."""
        costs = [cell.cost_usd for cell in self.cells.values() if cell.cost_usd is not None]
        return fsum(costs) if costs else None

    @property
    def tokens(self) -> int | None:
        """Tokens in both directions, as far as earlier runs tell; None if none does."""
        counts = [cell.tokens for cell in self.cells.values() if cell.tokens is not None]
        return sum(counts) if counts else None


def estimate_plan(
    plan: Plan, catalog: Catalog, request: RunRequest, environ: Mapping[str, str], results: Path
) -> PlanEstimate:
    """Estimate a plan from the history of the project."""
    if request.replay is not None:
        return PlanEstimate(cells={}, text="expected cost: $0.00, since cassettes are replayed")
    cells = [cell for cell in plan.cells if not cell.skipped]
    try:
        with open_project_history(catalog.config, environ, results=results) as history:
            earlier = earlier_cells(cells, history)
            estimates = {
                cell.id: _estimate(cell, earlier.get((cell.eval.name, str(cell.subject)), ()), catalog, history)
                for cell in cells
            }
    except StoreError as error:
        return PlanEstimate(cells={}, text=f"expected cost: unknown, since the history can't be read: {error}")
    new = sum(len(cell.trials) for cell in cells if estimates[cell.id].cost_usd is None)
    return PlanEstimate(
        cells=estimates, text=_text(PlanEstimate(cells=estimates, text=""), new, plan, catalog.config, request)
    )


def trial_costs(plan: Plan, config: Config, environ: Mapping[str, str], results: Path) -> Mapping[str, float]:
    """Cell → what a trial of it costs: in dollars, or else in tokens or seconds, by the last nights, or other runs if
    there are none. A cell without earlier runs costs as much as the others on average; empty if no cell has any."""
    cells = [cell for cell in plan.cells if cell.trials]
    try:
        with open_project_history(config, environ, results=results) as history:
            earlier = earlier_cells(cells, history, nightly=True) or earlier_cells(cells, history)
    except StoreError:
        return {}
    for used in (_usd, _tokens, _seconds):
        costs = {
            cell.id: mean
            for cell in cells
            if (mean := _mean(used(past) for past in earlier.get((cell.eval.name, str(cell.subject)), ())))
        }
        if costs:
            usual = fsum(costs.values()) / len(costs)
            return {cell.id: costs.get(cell.id, usual) for cell in cells}
    return {}


def earlier_cells(
    cells: Iterable[Cell], history: SqlHistory, *, nightly: bool = False
) -> dict[tuple[str, str], list[RunCell]]:
    """Eval and subject → their results in the last runs, or nightly runs, that have any, oldest first; raises
    StoreError."""
    earlier: dict[tuple[str, str], list[RunCell]] = {}
    for name in dict.fromkeys(cell.eval.name for cell in cells):
        for past in history.eval_history(name):
            if past.judged + past.voided and (past.kind == "nightly" or not nightly):
                earlier.setdefault((past.eval, past.subject), []).append(past)
    return {cell: results[-_RUNS:] for cell, results in earlier.items()}


def _estimate(cell: Cell, earlier: Sequence[RunCell], catalog: Catalog, history: SqlHistory) -> CellEstimate:
    """The estimate of one cell; runs in which a cost or a token count is unknown tell nothing about it."""
    trials = len(cell.trials)
    cost = _mean((_cost(cell, past, catalog, history), past.judged + past.voided) for past in earlier)
    tokens = _mean(map(_tokens, earlier))
    return CellEstimate(
        cost_usd=None if cost is None else trials * cost, tokens=None if tokens is None else round(trials * tokens)
    )


def _cost(cell: Cell, past: RunCell, catalog: Catalog, history: SqlHistory) -> float | None:
    """What a cell of an earlier run would cost at the present prices; None if that is unknown.

    If the history has only the cost of the whole cell, such as that of an imported run, it is taken as it is.
    """
    uses = history.model_uses(past.run, past.eval, past.subject)
    if uses and catalog.of(cell.subject).dialect is not None:
        return present_cost(catalog, cell.subject, uses)
    return None if past.unpriced else past.spent.cost_usd


def _usd(past: RunCell) -> tuple[float | None, int]:
    return None if past.unpriced else past.spent.cost_usd, past.judged + past.voided


def _tokens(past: RunCell) -> tuple[float | None, int]:
    return None if past.uncounted else past.spent.tokens, past.judged + past.voided


def _seconds(past: RunCell) -> tuple[float | None, int]:
    return past.spent.seconds, past.judged + past.voided


def _mean(used: Iterable[tuple[float | None, int]]) -> float | None:
    """The mean of a trial, from amounts of several trials, without those that are unknown; None if all are."""
    pairs = [(amount, trials) for amount, trials in used if amount is not None]
    return fsum(amount for amount, _ in pairs) / sum(trials for _, trials in pairs) if pairs else None


def _text(estimate: PlanEstimate, new: int, plan: Plan, config: Config, request: RunRequest) -> str:
    """The estimate for people, compared with the budget of the run."""
    spent = Spent(input_tokens=estimate.tokens, cost_usd=estimate.cost_usd)
    if estimate.cost_usd is None:
        used = f"; about {numbers.tokens(spent)} tokens" if estimate.tokens is not None else ""
        return f"expected cost: unknown (no earlier run of these evals has a known cost){used}"
    text = f"expected cost: {numbers.money(spent, new)}"
    text += f", {numbers.tokens(spent)} tokens" if estimate.tokens is not None else ""
    text += " (the mean of earlier runs, at present prices"
    text += f"; {count(new, 'trial')} of {plan.size} without known cost)" if new else ")"
    limit = budget_limits(config, request)["run"].usd
    return f"{text}: more than the budget of ${limit:g}" if limit is not None and estimate.cost_usd > limit else text


def present_cost(catalog: Catalog, subject: Subject, uses: Iterable[ModelUse]) -> float | None:
    """The sum in US dollars; None if a price or a token count is unknown.

    An exchange without token counts, such as a refused request, costs what it cost at the time.
    """
    own = catalog.models.model(subject.model).price
    others = _prices_of_other_models(catalog, subject)
    costs = [
        use.cost_usd
        if use.usage.input is None and use.usage.output is None
        else cost(use.usage, others.get(use.model, own))
        for use in uses
    ]
    return None if None in costs else math.fsum(amount for amount in costs if amount is not None)


def _prices_of_other_models(catalog: Catalog, subject: Subject) -> Mapping[str, Price | None]:
    """The prices of the models that the agent may request besides its subject's, by all their names."""
    prices: dict[str, Price | None] = {}
    for name in catalog.also(subject.agent):
        upstream = catalog.models.model(name)
        prices |= dict.fromkeys((name, str(getattr(upstream, "model", name))), upstream.price)
    return prices
