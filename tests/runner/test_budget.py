"""A budget that several runs share."""

from __future__ import annotations

import pytest

from demeanor.core.evidence import Spent
from demeanor.core.record import Record
from demeanor.core.run_request import RunRequest
from demeanor.core.verdict import Pass, Verdict, Void, VoidCause
from demeanor.runner.budget import BudgetSpent, RunBudget


def cost(usd: float | None, verdict: Verdict | None = None) -> Record:
    return Record(
        eval="a", subject="b", number=1, attempt=1, verdict=verdict or Pass(findings=()), spent=Spent(cost_usd=usd)
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
