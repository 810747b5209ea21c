"""A budget that several runs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.config.config import Config
from demeanor.config.tables import Limit
from demeanor.core.values.evidence import Spent
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.verdict import Pass, Verdict, Void, VoidCause
from demeanor.runner.budget import BudgetSpent, RunBudget, budget_limits


def cost(usd: float | None, verdict: Verdict | None = None) -> Record:
    return Record(
        eval="a", subject="b", number=1, attempt=1, verdict=verdict or Pass(findings=()), spent=Spent(cost_usd=usd)
    )


def used(tokens: int) -> Record:
    return Record(
        eval="a", subject="b", number=1, attempt=1, verdict=Pass(findings=()), spent=Spent(output_tokens=tokens)
    )


def test_each_run_gets_what_the_earlier_runs_have_left():
    """Attempts of unknown cost are not subtracted, but reported as unpriced."""
    budget = RunBudget(limit_usd=1.0)
    assert budget.limited(RunRequest()).budget_usd == 1.0
    budget.add([cost(0.25), cost(None)])
    assert budget.limited(RunRequest(seed=1)) == RunRequest(seed=1, budget_usd=0.75)
    assert (budget.total.spent.cost_usd, budget.total.unpriced) == (0.25, 1)
    budget.add([cost(0.75)])
    with pytest.raises(BudgetSpent, match=r"the budget of \$1 is spent"):
        budget.limited(RunRequest())


def test_tokens_are_shared_like_dollars():
    """Each run gets the tokens that the earlier runs have left."""
    budget = RunBudget(limit_tokens=100)
    budget.add([used(60)])
    assert budget.limited(RunRequest()) == RunRequest(budget_tokens=40)
    budget.add([used(40)])
    with pytest.raises(BudgetSpent, match=r"the budget of 100 tokens is spent \(100\)"):
        budget.limited(RunRequest())


def test_a_request_overrides_the_budget_of_the_run_only():
    """The other scopes keep those of the configuration."""
    config = Config(root=Path(), budgets={"run": Limit(usd=2.0, tokens=5), "trial": Limit(usd=1.0)})
    assert budget_limits(config, RunRequest()) == config.budgets
    assert budget_limits(config, RunRequest(budget_usd=3.0, budget_tokens=7)) == {
        "run": Limit(usd=3.0, tokens=7),
        "trial": Limit(usd=1.0),
    }


def test_without_a_limit_requests_stay_as_they_are():
    """The spending is still counted."""
    budget = RunBudget()
    budget.add([cost(100.0)])
    assert budget.limited(RunRequest()) == RunRequest()


def test_a_run_that_its_budget_stopped_leaves_nothing():
    """Even if the cost of its last attempt is unknown; a spent budget of a single trial does not count."""
    budget = RunBudget(limit_usd=1.0)
    budget.add([cost(None, Void(cause=VoidCause.BUDGET, detail="HTTP 402: the budget of the trial is spent"))])
    assert budget.limited(RunRequest()).budget_usd == 1.0
    budget.add([cost(None, Void(cause=VoidCause.BUDGET, detail="HTTP 402: the budget of the run is spent"))])
    with pytest.raises(BudgetSpent):
        budget.limited(RunRequest())
