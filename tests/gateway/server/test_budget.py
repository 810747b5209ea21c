"""Budgets: when one is spent, the agent gets an error of its dialect and the exchange has the reason."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from demeanor.core.values.exchange import Usage
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.models.live_model import LiveModel
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.models.provider import Provider
from demeanor.gateway.script import Answer, ScriptedModel
from demeanor.gateway.server.budget import Budget, BudgetAccount, Budgets, Charge, most
from demeanor.gateway.server.session import Session
from tests.gateway.helpers import a_trial, chat, post, provider, running, session_of

PRICE = Price(input=1.0, output=1.0)


def greedy(price: Price | None = PRICE) -> ScriptedModel:
    """A model that uses a million tokens for each response, which costs a dollar."""
    return ScriptedModel(play=lambda _: Answer(text="Hi.", usage=Usage(input=600_000, output=400_000)), price=price)


async def test_a_spent_trial_budget_is_an_error_of_the_dialect() -> None:
    """A request that started before is completed; the next one is refused and recorded."""
    async with (
        running({"played": greedy()}, budgets=Budgets(trial=Budget(usd=1.5))) as gateway,
        gateway.session(a_trial(), seed=1) as session,
    ):
        statuses = [(await post(session, chat())).status for _ in range(3)]
        refused = session.exchanges()[2]
    assert statuses == [200, 200, 402]
    assert refused.error
    assert (refused.error.reason, refused.error.status) == ("budget", 402)
    assert refused.error.message == "the budget of the trial is spent: $2.0000 of $1.5000"
    assert refused.error.own


@pytest.mark.parametrize(
    ("dialect", "path", "body"),
    [
        ("openai-chat", "/v1/chat/completions", {**chat(), "max_tokens": 100, "n": 3}),
        (
            "gemini",
            "/v1beta/models/played:generateContent",
            {"contents": [], "generationConfig": {"maxOutputTokens": 100, "candidateCount": 3}},
        ),
    ],
)
def test_each_of_several_answers_is_reserved(dialect: str, path: str, body: dict[str, Any]) -> None:
    """A request may ask for several at once."""
    wire = DIALECTS[dialect]
    route = wire.route("POST", path, {})
    assert route
    assert most(wire.read_request(json.dumps(body).encode(), route), 0, PRICE).tokens == 300


async def test_the_error_is_in_the_agents_dialect() -> None:
    """The dialect's clients understand it."""
    async with (
        running({"played": greedy()}, budgets=Budgets(trial=Budget(tokens=0))) as gateway,
        gateway.session(a_trial(), seed=1) as session,
    ):
        reply = await post(session, chat(stream=True))
    assert "budget of the trial is spent: 0 of 0 tokens" in json.loads(reply.body)["error"]["message"]


async def test_an_eval_budget_is_shared_by_its_trials() -> None:
    """A new trial of the same eval continues its account; another eval has its own."""
    async with running({"played": greedy()}, budgets=Budgets(eval=Budget(tokens=1_000_000))) as gateway:
        found = []
        for name, number in (("one", 1), ("one", 2), ("two", 1)):
            async with gateway.session(a_trial(name=name, number=number), seed=1) as session:
                found.append((await post(session, chat())).status)
            refusals = [one.error.own for one in session.exchanges() if one.error]
            assert refusals in ([], [False])
    assert found == [200, 402, 200]


async def test_a_run_budget_is_shared_by_everything() -> None:
    """When the run's budget is spent, no request is answered."""
    async with running({"played": greedy()}, budgets=Budgets(run=Budget(usd=0.5))) as gateway:
        found = []
        for name in ("one", "two"):
            async with gateway.session(a_trial(name=name), seed=1) as session:
                found.append((await post(session, chat())).status)
    assert found == [200, 402]


async def test_a_free_model_needs_no_budget() -> None:
    """A budget of zero dollars allows a free model."""
    async with (
        running({"played": greedy(FREE)}, budgets=Budgets(run=Budget(usd=0.0))) as gateway,
        gateway.session(a_trial(), seed=1) as session,
    ):
        assert (await post(session, chat())).status == 200


async def test_an_unknown_price_is_refused_if_dollars_are_limited() -> None:
    """A budget in dollars can't limit a model with an unknown price, so none of its tokens are bought."""
    async with (
        running({"played": greedy(None)}, budgets=Budgets(run=Budget(usd=1.0))) as gateway,
        gateway.session(a_trial(), seed=1) as session,
    ):
        assert (await post(session, chat())).status == 402
        (refused,) = session.exchanges()
    assert refused.error
    assert refused.error.reason == "budget"
    assert refused.error.message == "the price of the model 'played' is unknown, so no budget in dollars allows it"


async def test_another_model_of_the_provider_can_not_be_requested_by_name() -> None:
    """The provider is asked for the subject's model, which is also what the answer costs, and a note says so."""

    async def answers(request: web.Request) -> web.StreamResponse:
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi."}}
        return web.json_response({"id": "c", "choices": [choice], "usage": usage})

    async with provider(answers) as (url, received):
        acme = Provider("acme", base_url=url, dialects=[DIALECTS["openai-chat"]], key="k")
        models = {"played": LiveModel(provider=acme, model="played", price=PRICE)}
        async with (
            running(models, budgets=Budgets(run=Budget(usd=1.0))) as gateway,
            gateway.session(a_trial(), seed=1) as session,
        ):
            statuses = [(await post(session, chat(model=name))).status for name in ("played", "enormous")]
            own, other = (exchange.cost_usd for exchange in session.exchanges())
            notes = session.notes
    assert statuses == [200, 200]
    assert [json.loads(body)["model"] for body in received.bodies] == ["played", "played"]
    assert own
    assert other == own
    assert "the agent requested the model 'enormous', which is not configured; 'played' was used instead" in notes


async def test_cached_tokens_without_a_rate_are_noted() -> None:
    """The cost is known, and a note says what it assumes."""
    cached = ScriptedModel(play=lambda _: Answer(text="Hi.", usage=Usage(input=9, output=1, cache_read=5)), price=PRICE)
    async with running({"played": cached}) as gateway, gateway.session(a_trial(), seed=1) as session:
        await post(session, chat())
        assert session.exchanges()[0].cost_usd == pytest.approx(10 / 1_000_000)
        assert session.notes[-1] == (
            "the price of 'played' has no cache_read: cached tokens are counted at the input price"
        )


async def test_uncounted_tokens_are_charged_with_an_estimate() -> None:
    """A provider that does not count tokens can't circumvent a budget in dollars."""
    price = Price(input=1_000_000.0, output=1_000_000.0)
    silent = ScriptedModel(play=lambda _: Answer(text="Hi.", usage=Usage()), price=price)
    async with (
        running({"played": silent}, budgets=Budgets(trial=Budget(usd=20.0))) as gateway,
        gateway.session(a_trial(), seed=1) as session,
    ):
        assert [(await post(session, chat("x" * 100))).status for _ in range(2)] == [200, 402]
        assert "the provider did not count tokens: an estimate of their cost was charged to the budget" in session.notes


async def test_uncounted_tokens_are_estimated() -> None:
    """A provider that does not count tokens can't circumvent a budget in tokens."""
    silent = ScriptedModel(play=lambda _: Answer(text="Hi.", usage=Usage()), price=None)
    async with (
        running({"played": silent}, budgets=Budgets(trial=Budget(tokens=20))) as gateway,
        gateway.session(a_trial(), seed=1) as session,
    ):
        assert [(await post(session, chat("x" * 100))).status for _ in range(2)] == [200, 402]


def test_an_account_charges_its_parents() -> None:
    """Each account is charged, and the first spent one is named."""
    run = BudgetAccount("the run", Budget(tokens=10))
    one, two = BudgetAccount("one", Budget(tokens=8), run), BudgetAccount("two", Budget(), run)
    one.spend(6, None)
    assert one.exhausted() is None
    two.spend(6, 0.25)
    assert (run.tokens, run.usd, one.usd) == (12, 0.25, 0.0)
    assert one.exhausted() == two.exhausted() == "the budget of the run is spent: 12 of 10 tokens"


@asynccontextmanager
async def live(
    handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], **settings: Any
) -> AsyncIterator[Session]:
    """A session whose model is that of a provider that answers with `handle`."""
    async with provider(handle) as (url, _):
        acme = Provider("acme", base_url=url, dialects=[DIALECTS["openai-chat"]], key="k")
        async with session_of(LiveModel(provider=acme, model="played", price=PRICE), **settings) as session:
            yield session


async def streams_for_ever(request: web.BaseRequest) -> web.StreamResponse:
    """400 tokens, and then nothing more, not even their number."""
    reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await reply.prepare(request)
    piece = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "more" * 400}}]}
    await reply.write(b"data: " + json.dumps(piece).encode() + b"\n\n")
    await asyncio.Event().wait()
    return reply


async def hang_up(session: Session, *, after: int, **fields: Any) -> None:
    """Send a request, hang up after so many bytes of the answer, and wait until the gateway has noticed."""
    head = {"Authorization": f"Bearer {session.token}"}
    async with aiohttp.ClientSession() as client:
        url = session.base_url + "/v1/chat/completions"
        asked = asyncio.create_task(client.post(url, json=chat("x" * 400, **fields), headers=head))
        while not session.waiting():
            await asyncio.sleep(0)
        if after:
            answer = await asked
            await answer.content.readexactly(after)
            answer.close()
        asked.cancel()
    while session.account.tokens == 0:
        await asyncio.sleep(0)


async def test_who_hangs_up_pays_for_what_was_received() -> None:
    """Before the provider says how many tokens these were; the exchange has the same number."""
    async with live(streams_for_ever) as session:
        await hang_up(session, after=100, stream=True)
        (exchange,) = session.exchanges()
        spent = session.account.tokens
    assert exchange.response is not None
    assert exchange.response.usage.output == 400
    assert spent == 400 + (exchange.response.usage.input or 0) > 500


async def test_who_does_not_wait_for_a_whole_answer_pays_for_the_longest_one() -> None:
    """Nobody knows how much the model has said."""
    async with live(streams_for_ever) as session:
        await hang_up(session, after=0, max_tokens=5000)
        assert 5000 + 100 < session.account.tokens < 5000 + 200


async def test_parallel_requests_overspend_a_budget_by_one_exchange() -> None:
    """What each may cost is reserved before it is sent, and further ones wait."""
    arrived = most = 0

    async def answers(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal arrived, most
        arrived += 1
        most = max(most, arrived)
        await asyncio.sleep(0)
        arrived -= 1
        usage = {"prompt_tokens": 10, "completion_tokens": 1000, "total_tokens": 1010}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hi."}}
        return web.json_response({"id": "c", "choices": [choice], "usage": usage})

    async with live(answers, budgets=Budgets(trial=Budget(tokens=3000))) as session:
        replies = await asyncio.gather(*(post(session, chat(n=2, max_tokens=500)) for _ in range(40)))
        assert session.account.tokens <= 3000 + 1010
    assert sorted({reply.status for reply in replies}) == [200, 402]
    assert most <= 2


async def test_requests_of_other_trials_are_not_waited_for() -> None:
    """An agent that does not end its request can't delay another one's."""
    run = BudgetAccount("the run", Budget(tokens=100))
    slow, honest = BudgetAccount("one", Budget(), run), BudgetAccount("two", Budget(), run)
    async with slow.reserve(Charge(tokens=90)), asyncio.timeout(60), honest.reserve(Charge(tokens=90)) as spent:
        assert spent is None


async def test_counting_tokens_spends_them() -> None:
    """It is no exchange, and costs nothing, but is limited and noted."""
    question = {"model": "played", "messages": [{"role": "user", "content": "x" * 4000}]}
    async with session_of(greedy(), budgets=Budgets(trial=Budget(tokens=1000))) as session:
        headers = {"x-api-key": session.token}
        path = "/v1/messages/count_tokens"
        statuses = [(await post(session, question, path=path, headers=headers)).status for _ in range(2)]
        assert session.exchanges() == ()
        assert (session.account.usd, session.account.tokens > 1000) == (0.0, True)
        assert session.notes[-1] == "the agent had the tokens of 1 request counted, which are in no exchange"
    assert statuses == [200, 402]
