"""Budgets: when they are spent, the agent gets an error of its dialect and the exchange says why."""

from __future__ import annotations

import json

from demeanor.core.exchange import Usage
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.script import Answer, ScriptedModel
from demeanor.gateway.server.budget import Budget, BudgetAccount, Budgets
from tests.gateway.lab import a_trial, chat, post, running

PRICE = Price(input=1.0, output=1.0)


def greedy(price: Price | None = PRICE) -> ScriptedModel:
    """A model that spends a million tokens at a time, which is a dollar."""
    return ScriptedModel(play=lambda _: Answer(text="Hi.", usage=Usage(input=600_000, output=400_000)), price=price)


async def test_a_spent_trial_budget_is_an_error_of_the_dialect() -> None:
    """What was begun with money left is finished; the next request is refused and recorded as such."""
    async with (
        running({"played": greedy()}, budgets=Budgets(trial=Budget(usd=1.5))) as gateway,
        gateway.session(a_trial(), seed=1) as door,
    ):
        statuses = [(await post(door, chat())).status for _ in range(3)]
        refused = door.exchanges()[2]
    assert statuses == [200, 200, 402]
    assert refused.error
    assert (refused.error.reason, refused.error.status) == ("budget", 402)
    assert refused.error.message == "the budget of the trial is spent: $2.0000 of $1.5000"


async def test_the_error_says_so_in_the_agent_words() -> None:
    """The body is an error that the dialect's clients understand."""
    async with (
        running({"played": greedy()}, budgets=Budgets(trial=Budget(tokens=0))) as gateway,
        gateway.session(a_trial(), seed=1) as door,
    ):
        reply = await post(door, chat(stream=True))
    assert "budget of the trial is spent: 0 of 0 tokens" in json.loads(reply.body)["error"]["message"]


async def test_an_eval_budget_is_shared_by_its_trials() -> None:
    """A new trial of the same eval finds the purse as the last one left it; another eval has its own."""
    async with running({"played": greedy()}, budgets=Budgets(eval=Budget(tokens=1_000_000))) as gateway:
        found = []
        for name, number in (("one", 1), ("one", 2), ("two", 1)):
            async with gateway.session(a_trial(name=name, number=number), seed=1) as door:
                found.append((await post(door, chat())).status)
    assert found == [200, 402, 200]


async def test_a_run_budget_is_shared_by_everything() -> None:
    """When the run's purse is empty, nobody gets an answer."""
    async with running({"played": greedy()}, budgets=Budgets(run=Budget(usd=0.5))) as gateway:
        found = []
        for name in ("one", "two"):
            async with gateway.session(a_trial(name=name), seed=1) as door:
                found.append((await post(door, chat())).status)
    assert found == [200, 402]


async def test_what_is_free_needs_no_money() -> None:
    """A budget of no dollars at all still allows what costs nothing."""
    async with (
        running({"played": greedy(FREE)}, budgets=Budgets(run=Budget(usd=0.0))) as gateway,
        gateway.session(a_trial(), seed=1) as door,
    ):
        assert (await post(door, chat())).status == 200


async def test_an_unknown_price_is_noted_where_money_is_limited() -> None:
    """A budget in dollars can't hold a model of unknown price; a person is told."""
    async with (
        running({"played": greedy(None)}, budgets=Budgets(run=Budget(usd=1.0))) as gateway,
        gateway.session(a_trial(), seed=1) as door,
    ):
        await post(door, chat())
        assert door.notes[-1] == "the price of 'played' is not known: a budget in dollars can't hold it back"


async def test_uncounted_tokens_are_estimated() -> None:
    """A provider that does not count can't be used to get round a budget in tokens."""
    silent = ScriptedModel(play=lambda _: Answer(text="Hi.", usage=Usage()), price=None)
    async with (
        running({"played": silent}, budgets=Budgets(trial=Budget(tokens=20))) as gateway,
        gateway.session(a_trial(), seed=1) as door,
    ):
        assert [(await post(door, chat("x" * 100))).status for _ in range(2)] == [200, 402]


def test_a_purse_spends_from_all_that_it_hangs_on() -> None:
    """Each purse on the way up is lighter, and the first empty one is named."""
    run = BudgetAccount("the run", Budget(tokens=10))
    one, two = BudgetAccount("one", Budget(tokens=8), run), BudgetAccount("two", Budget(), run)
    one.spend(6, None)
    assert one.empty() is None
    two.spend(6, 0.25)
    assert (run.tokens, run.usd, one.usd) == (12, 0.25, 0.0)
    assert one.empty() == two.empty() == "the budget of the run is spent: 12 of 10 tokens"
