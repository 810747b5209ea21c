"""What many runs may spend in all."""

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


def test_every_run_gets_what_the_ones_before_it_left():
    """What nobody knows the price of is not counted, but told."""
    purse = RunBudget(limit_usd=1.0)
    assert purse.paid(RunRequest()).budget_usd == 1.0
    purse.pay([cost(0.25), cost(None)])
    assert purse.paid(RunRequest(seed=1)) == RunRequest(seed=1, budget_usd=0.75)
    assert (purse.total.spent.cost_usd, purse.total.unpriced) == (0.25, 1)
    purse.pay([cost(0.75)])
    with pytest.raises(BudgetSpent, match=r"the budget of \$1 is spent"):
        purse.paid(RunRequest())


def test_without_a_limit_anything_may_be_spent():
    """But it is counted."""
    purse = RunBudget()
    purse.pay([cost(100.0)])
    assert purse.paid(RunRequest()) == RunRequest()


def test_a_run_that_ran_out_of_money_empties_it():
    """Whatever its last attempt cost; the budget of one trial says nothing about the others."""
    purse = RunBudget(limit_usd=1.0)
    purse.pay([cost(None, Void(cause=VoidCause.BUDGET, detail="HTTP 402: the budget of the trial is spent"))])
    assert purse.paid(RunRequest()).budget_usd == 1.0
    purse.pay([cost(None, Void(cause=VoidCause.BUDGET, detail="HTTP 402: the budget of the run is spent"))])
    with pytest.raises(BudgetSpent):
        purse.paid(RunRequest())
