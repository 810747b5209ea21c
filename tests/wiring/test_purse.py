"""What many runs may spend in all."""

from __future__ import annotations

import pytest

from holdfast.core.evidence import Spent
from holdfast.core.request import RunRequest
from holdfast.wiring.purse import NothingLeft, Purse


def test_every_run_gets_what_the_ones_before_it_left():
    """What nobody knows the price of is not counted, but told."""
    purse = Purse(limit_usd=1.0)
    assert purse.paid(RunRequest()).budget_usd == 1.0
    purse.pay([Spent(cost_usd=0.25), Spent(cost_usd=None)])
    assert purse.paid(RunRequest(seed=1)) == RunRequest(seed=1, budget_usd=0.75)
    assert (purse.total.spent.cost_usd, purse.total.unpriced) == (0.25, 1)
    purse.pay([Spent(cost_usd=0.75)])
    with pytest.raises(NothingLeft, match=r"the budget of \$1 is spent"):
        purse.paid(RunRequest())


def test_without_a_limit_anything_may_be_spent():
    """But it is counted."""
    purse = Purse()
    purse.pay([Spent(cost_usd=100.0)])
    assert purse.paid(RunRequest()) == RunRequest()
