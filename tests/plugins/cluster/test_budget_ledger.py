from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from demeanor.config.tables import Limit
from demeanor.core.values.evidence import Spent
from demeanor.plugins.cluster.budget_ledger import BudgetLedger
from tests.helpers.runs import record


def trial(number: int) -> Any:
    """A trial of the eval that `record` is of."""
    one = record(number)
    return SimpleNamespace(id=one.trial, eval=SimpleNamespace(name=one.eval))


def test_an_attempt_waits_until_others_leave_it_enough_of_the_budget() -> None:
    """The expectation is the mean of what was spent so far; the last attempt may have all that is left."""

    async def story() -> None:
        ledger = BudgetLedger({"run": Limit(usd=1.0)})
        assert await ledger.reserve(trial(1)) == (Limit(), Limit(usd=1.0))
        ledger.settle(replace(record(1), spent=Spent(seconds=1, cost_usd=0.4)))
        assert (await ledger.reserve(trial(2)))[1] == Limit(usd=0.6)
        third = asyncio.ensure_future(ledger.reserve(trial(3)))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not third.done(), "0.2 are left beside the reservation, and 0.4 are expected"
        ledger.settle(replace(record(2), spent=Spent(seconds=1, cost_usd=0.3)))
        assert round((await third)[1].usd or 0, 6) == 0.3

    asyncio.run(story())


def test_tokens_of_an_eval_are_counted_apart_from_the_run() -> None:
    """Each scope has its own budget."""

    async def story() -> None:
        ledger = BudgetLedger({"eval": Limit(tokens=100), "run": Limit(tokens=1000)})
        await ledger.reserve(trial(1))
        ledger.settle(replace(record(1), spent=Spent(seconds=1, input_tokens=60, output_tokens=10)))
        other: Any = SimpleNamespace(id="other/1", eval=SimpleNamespace(name="other"))
        assert await ledger.reserve(other) == (Limit(tokens=100), Limit(tokens=930))
        assert [limit.tokens for limit in await ledger.reserve(trial(2))] == [30, 860]

    asyncio.run(asyncio.wait_for(story(), 60))


def test_a_resumed_run_starts_with_what_it_has_spent() -> None:
    """Against the run's budget as it is now, which may be another one."""

    async def story() -> None:
        ledger = BudgetLedger({"eval": Limit(tokens=100), "run": Limit(usd=1.0)})
        earlier = replace(record(1), spent=Spent(seconds=1, cost_usd=0.75, input_tokens=40, output_tokens=10))
        ledger.continue_from([earlier], Limit(usd=2.0))
        assert await ledger.reserve(trial(2)) == (Limit(tokens=50), Limit(usd=1.25))

    asyncio.run(asyncio.wait_for(story(), 60))
