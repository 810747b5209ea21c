"""Answers broken on purpose: what an agent meets, in every dialect, and what is recorded of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import openai
import pytest

from demeanor.core.exchange import Exchange, Response
from demeanor.core.fault import FaultKind, parse_faults
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.stream_events import Broke, assembled
from demeanor.gateway.models.live_model import LiveModel
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.models.provider import Provider
from demeanor.gateway.script import Answer, ScriptedModel, Turn
from demeanor.gateway.server.session import Session
from tests.gateway.lab import a_tool, a_trial, chat, post, provider, running, session_of

SCHEMA: Any = a_tool("read_file", "path").schema
USER = [{"role": "user", "content": "What does it say?"}]


@dataclass(frozen=True)
class Spoken:
    """One way to ask."""

    dialect: str
    path: str
    key: str
    body: dict[str, Any]
    streamed: bool = False


def ways() -> dict[str, Spoken]:
    """The same question in every dialect and framing."""
    found: dict[str, Spoken] = {}
    for stream in (False, True):
        kind = "streamed" if stream else "whole"
        tool = {"name": "read_file", "parameters": SCHEMA}
        body: dict[str, Any] = {"model": "played", "messages": USER, "stream": stream}
        asked = {**body, "tools": [{"type": "function", "function": tool}]}
        found[f"chat-{kind}"] = Spoken("openai-chat", "/v1/chat/completions", "Authorization", asked, stream)
        asked = {"model": "played", "input": "What?", "stream": stream, "tools": [{"type": "function", **tool}]}
        found[f"responses-{kind}"] = Spoken("openai-responses", "/v1/responses", "Authorization", asked, stream)
        asked = {**body, "max_tokens": 99, "tools": [{"name": "read_file", "input_schema": SCHEMA}]}
        found[f"anthropic-{kind}"] = Spoken("anthropic", "/v1/messages", "x-api-key", asked, stream)
    asked = {"contents": [{"role": "user", "parts": [{"text": "What?"}]}], "tools": [{"functionDeclarations": [tool]}]}
    for name, end in (
        ("whole", "generateContent"),
        ("streamed", "streamGenerateContent?alt=sse"),
        ("array", "streamGenerateContent"),
    ):
        path = f"/v1beta/models/played:{end}"
        found[f"gemini-{name}"] = Spoken("gemini", path, "x-goog-api-key", asked, name != "whole")
    return found


WAYS = ways()
every_way = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
streamed_ways = pytest.mark.parametrize("way", [w for w in WAYS.values() if w.streamed], ids=lambda w: w.path)


def play(turn: Turn) -> Answer:
    """A model that talks a while and then wants to read something."""
    return Answer(text="All work and no play. " * 20, calls=(turn.call("read", path="a.txt"),))


@dataclass
class Played:
    """A script that knows how often it was asked."""

    asked: int = 0

    def __call__(self, turn: Turn) -> Answer:
        self.asked += 1
        return play(turn)


@asynccontextmanager
async def under(*rules: str, model: Any = None, seed: int = 1) -> AsyncIterator[Session]:
    """A session of a trial that asks for these faults."""
    trial = a_trial()
    scenario = replace(trial.eval.scenario, faults=parse_faults(rules, where="here"))
    trial = replace(trial, eval=replace(trial.eval, scenario=scenario))
    async with (
        running({"played": model or ScriptedModel(play=play)}) as gateway,
        gateway.session(trial, seed=seed) as door,
    ):
        yield door


@asynccontextmanager
async def asking(door: Session, way: Spoken) -> AsyncIterator[aiohttp.ClientResponse]:
    """A question that is being answered."""
    key = f"Bearer {door.token}" if way.key == "Authorization" else door.token
    async with (
        aiohttp.ClientSession(headers={way.key: key}) as client,
        client.post(door.base_url + way.path, json=way.body) as answer,
    ):
        yield answer


async def ask(door: Session, way: Spoken) -> tuple[int, str, bytes]:
    """Status, content type and body of an answer."""
    async with asking(door, way) as answer:
        return answer.status, answer.headers["Content-Type"], await answer.read()


async def undisturbed(way: Spoken) -> tuple[int, str, bytes]:
    """What is answered where nothing is broken."""
    async with under() as door:
        return await ask(door, way)


def understood(way: Spoken, body: bytes) -> Response:
    """What a client of the dialect makes of a body."""
    dialect = DIALECTS[way.dialect]
    if not way.streamed:
        return dialect.read_response(body)
    reader = dialect.stream_reader()
    deltas = [*reader.feed(body), *reader.close()]
    assert not [delta for delta in deltas if isinstance(delta, Broke)]
    return assembled(deltas)


def only(door: Session) -> Exchange:
    """The one exchange there was."""
    (exchange,) = door.exchanges()
    return exchange


def reason(exchange: Exchange) -> str | None:
    """Why it failed."""
    return exchange.error.reason if exchange.error else None


async def until(condition: Any) -> None:
    """Let the loop run until something is so."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        await asyncio.sleep(0)


@every_way
@pytest.mark.parametrize(
    ("kind", "failure"), [("429", "rate_limit"), ("500", "server"), ("503", "overloaded"), ("529", "overloaded")]
)
async def test_a_status(way: Spoken, kind: str, failure: str) -> None:
    """An error of the dialect comes at once, and nobody is asked nor paid."""
    played = Played()
    async with under(
        f"{kind}@1:retry_after=7", model=ScriptedModel(play=played, price=Price(input=1, output=1))
    ) as door:
        async with asking(door, way) as answer:
            body = await answer.read()
            assert (answer.status, answer.headers["Retry-After"]) == (int(kind), "7")
        exchange = only(door)
        assert (await ask(door, way))[0] == 200
    error = DIALECTS[way.dialect].read_error(int(kind), body, {})
    assert (error.reason, error.message) == (failure, f"injected fault {kind}@1:retry_after=7")
    assert exchange.error == error
    assert (exchange.fault, exchange.response, exchange.cost_usd) == (f"{kind}@1:retry_after=7", None, 0.0)
    assert played.asked == 1


@pytest.mark.parametrize(("rule", "header"), [("429", "1"), ("429:retry_after=0", "0"), ("500", None), ("529", None)])
async def test_only_a_429_says_by_itself_when_to_come_back(rule: str, header: str | None) -> None:
    """As providers do."""
    async with under(rule) as door, asking(door, WAYS["chat-whole"]) as answer:
        assert answer.headers.get("Retry-After") == header


@every_way
async def test_refused(way: Spoken) -> None:
    """The connection ends without a byte."""
    played = Played()
    async with under("refused@1", model=ScriptedModel(play=played)) as door:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await ask(door, way)
        await until(lambda: not door._open)
        exchange = only(door)
    assert (exchange.fault, reason(exchange), exchange.first_byte, played.asked) == (
        "refused@1",
        "unreachable",
        None,
        0,
    )


@every_way
async def test_hang(way: Spoken) -> None:
    """Nothing comes; all the time somebody waits, and it is the provider who owes."""
    async with under("hang@1") as door:
        client = asyncio.create_task(ask(door, way))
        await until(door.waiting)
        meanwhile = only(door)
        client.cancel()
        await asyncio.gather(client, return_exceptions=True)
        await until(lambda: not door.waiting())
        assert only(door).fault == meanwhile.fault == "hang@1"
        assert reason(only(door)) == reason(meanwhile) == "stalled"
        assert only(door).first_byte is None


async def test_a_hang_ends_with_its_session() -> None:
    """Nobody waits for ever."""
    async with under("hang") as door:
        client = asyncio.create_task(ask(door, WAYS["chat-whole"]))
        await until(door.waiting)
    with pytest.raises(aiohttp.ClientError):
        await client


@every_way
async def test_drip(way: Spoken) -> None:
    """The answer is the same, but it takes its time; once it is complete nothing was wrong."""
    good = await undisturbed(way)
    async with under("drip@1:delay=0.002") as door:
        started = time.monotonic()
        assert await ask(door, way) == good
        took = time.monotonic() - started
        exchange = only(door)
    assert took >= 0.01
    assert (exchange.fault, exchange.error) == ("drip@1:delay=0.002", None)
    assert exchange.response
    assert exchange.response.calls[0].name == "read_file"


@every_way
async def test_a_drip_that_nobody_waits_for_is_a_stall(way: Spoken) -> None:
    """While it drips, and when the agent has hung up, the answer is owed."""
    async with under("drip:delay=3600") as door:
        async with asking(door, way) as answer:
            assert await answer.content.readany()
            assert door.waiting()
            assert reason(only(door)) == "stalled"
        await until(lambda: not door.waiting())
        assert reason(only(door)) == "stalled"


@every_way
async def test_cut(way: Spoken) -> None:
    """About half of the answer comes, and then the end of the connection; what came is recorded."""
    good = (await undisturbed(way))[2]
    async with under("cut@1") as door:
        got = b""
        async with asking(door, way) as answer:
            assert answer.status == 200
            try:
                async with asyncio.timeout(10):
                    async for chunk in answer.content.iter_any():
                        got += chunk
            except aiohttp.ClientPayloadError:
                pass
            else:
                pytest.fail("it ended as if nothing were wrong")
        await until(lambda: not door._open)
        exchange = only(door)
    assert good.startswith(got)
    assert 0.2 < len(got) / len(good) < 0.8
    assert (exchange.fault, reason(exchange)) == ("cut@1", "cut")
    if way.streamed:
        assert exchange.response
        assert exchange.response.text
        assert not exchange.response.calls
    else:
        assert exchange.response is None


@every_way
async def test_truncated_json(way: Spoken) -> None:
    """Half of the answer comes, and a proper end; no client can take it for whole."""
    good = (await undisturbed(way))[2]
    async with under("truncated-json") as door:
        status, _, got = await ask(door, way)
        exchange = only(door)
    assert status == 200
    assert good.startswith(got.removesuffix(b"\n\n"))
    assert 0.2 < len(got) / len(good) < 0.8
    assert (exchange.fault, reason(exchange)) == ("truncated-json", "cut")
    if way.streamed:
        reader = DIALECTS[way.dialect].stream_reader()
        deltas = [*reader.feed(got), *reader.close()]
        assert [delta for delta in deltas if isinstance(delta, Broke)]
        last = got.rstrip().rpartition(b"\n")[2].removeprefix(b",").removeprefix(b"data: ")
    else:
        last = got
    with pytest.raises(json.JSONDecodeError):
        json.loads(last)


@every_way
async def test_malformed_sse(way: Spoken) -> None:
    """A stream holds one broken event among the good ones; another body is no JSON."""
    good = (await undisturbed(way))[2]
    async with under("malformed-sse") as door:
        status, kind, got = await ask(door, way)
        exchange = only(door)
    assert status == 200
    assert exchange.fault == "malformed-sse"
    if kind == "text/event-stream":
        events, fine = got.split(b"\n\n"), good.split(b"\n\n")
        broken = next(place for place, event in enumerate(events) if event != fine[place])
        assert events[:broken] + events[broken + 1 :] == fine
        with pytest.raises(json.JSONDecodeError):
            json.loads(events[broken].rpartition(b"data: ")[2])
        assert events[broken].split(b"\n")[0].split(b": ")[0] == fine[broken].split(b"\n")[0].split(b": ")[0]
    else:
        with pytest.raises(json.JSONDecodeError):
            json.loads(got)
    if way.streamed:
        assert exchange.error is None
        assert exchange.response
        assert exchange.response.calls
    else:
        assert (reason(exchange), exchange.response) == ("server", None)


@streamed_ways
@pytest.mark.parametrize("pieces", range(4))
@pytest.mark.parametrize("calls", range(2))
async def test_nothing_but_the_broken_event_is_added(way: Spoken, pieces: int, calls: int) -> None:
    """Wherever the middle of the stream falls, whoever skips what is no JSON has the answer, and nothing twice."""
    text = "x" * 40 * pieces
    model = ScriptedModel(play=lambda turn: Answer(text=text, calls=(turn.call("read", path="a.txt"),) * calls))
    async with under("malformed-sse@2", model=model) as door:
        _, _, good = await ask(door, way)
        _, kind, got = await ask(door, way)
    if kind == "text/event-stream":
        kept = [event for event in got.split(b"\n\n") if b"data: {" not in event or sound(event)]
        assert b"\n\n".join(kept) == good != got
    else:
        assert not sound(got)


def sound(event: bytes) -> bool:
    """Whether the data of an event are JSON."""
    try:
        json.loads(event.rpartition(b"data: ")[2])
    except json.JSONDecodeError:
        return False
    return True


@every_way
async def test_content_type(way: Spoken) -> None:
    """The answer is the same, under another name."""
    good = await undisturbed(way)
    async with under("content-type@1", "content-type@2:content_type=text/plain") as door:
        assert await ask(door, way) == (good[0], "text/html", good[2])
        assert await ask(door, way) == (good[0], "text/plain", good[2])
        first, _ = door.exchanges()
    assert (first.fault, first.error) == ("content-type@1", None)
    assert first.response


@every_way
async def test_empty(way: Spoken) -> None:
    """A sound answer that says nothing and wants nothing."""
    async with under("empty@1") as door:
        status, _, got = await ask(door, way)
        exchange = only(door)
    assert status == 200
    assert (understood(way, got).text, understood(way, got).calls) == ("", ())
    assert (exchange.fault, exchange.error) == ("empty@1", None)
    assert exchange.response
    assert exchange.response.parts == ()


@every_way
async def test_tool_id(way: Spoken) -> None:
    """The calls are the same under other ids, which the record knows too; the same trial gets the same ids."""
    good = understood(way, (await undisturbed(way))[2])
    ids = set()
    for _ in range(2):
        async with under("tool-id@1") as door:
            found = understood(way, (await ask(door, way))[2])
            exchange = only(door)
        (call,) = found.calls
        assert exchange.fault == "tool-id@1"
        assert exchange.response
        assert exchange.response.calls[0].id.startswith("changed_")
        assert call.arguments == good.calls[0].arguments
        assert call.id != good.calls[0].id
        assert found.text == good.text
        ids.add(call.id)
    assert len(ids) == 1


def test_every_kind_is_tried() -> None:
    """Each of the kinds has a test above."""
    tests = " ".join(name.replace("_", "-") for name in globals() if name.startswith("test_"))
    assert [kind for kind in FaultKind if not kind.isdigit() and f"test-{kind}" not in tests] == []


async def test_the_first_rule_that_hits_counts() -> None:
    """And only where it hits."""
    async with under("500@2", "503@1-3") as door:
        statuses = [(await ask(door, WAYS["chat-whole"]))[0] for _ in range(4)]
        faults = [exchange.fault for exchange in door.exchanges()]
    assert statuses == [503, 500, 503, 200]
    assert faults == ["503@1-3", "500@2", "503@1-3", None]


async def test_probability_depends_on_the_seed_alone() -> None:
    """The same trial is broken in the same places."""

    async def broken(seed: int) -> list[int]:
        async with under("500@50%", seed=seed) as door:
            return [(await ask(door, WAYS["chat-whole"]))[0] for _ in range(12)]

    first, again, other = await broken(1), await broken(1), await broken(2)
    assert first == again
    assert first != other
    assert {200, 500} == set(first)


async def test_what_is_no_exchange_is_neither_broken_nor_counted() -> None:
    """Counts of tokens, lists of models and strangers are left alone."""
    anthropic = WAYS["anthropic-whole"]
    async with under("500") as door:
        assert (await ask(door, replace(anthropic, path="/v1/messages/count_tokens")))[0] == 200
        assert (await post(door, chat(), token="guessed")).status == 401
        assert (await ask(door, anthropic))[0] == 500


async def test_a_model_that_fails_by_itself_is_not_broken_further() -> None:
    """Its own failure is passed on, and no fault is claimed."""
    async with under("cut@1", model=ScriptedModel(play=lambda _: str(1 / 0))) as door:
        assert (await ask(door, WAYS["chat-streamed"]))[0] == 500
        assert (only(door).fault, reason(only(door))) == (None, "server")


async def test_what_was_not_injected_is_noted() -> None:
    """A rule for an exchange that never came, or that had nothing to change, is told; a probability is not."""
    async with under("cut@2", "500@0.001%", "tool-id@1", model=ScriptedModel(play=lambda _: "Hi.")) as door:
        await ask(door, WAYS["chat-whole"])
        assert only(door).fault is None
        assert [note for note in door.notes if "fault" in note] == [
            f"the fault {rule} was not injected: there were 1 exchange, and none that it could break"
            for rule in ("cut@2", "tool-id@1")
        ]


async def test_a_broken_answer_costs_what_it_cost() -> None:
    """The provider was asked, so it is paid, whatever the agent saw of the answer."""
    async with under("cut@1", "empty@2", model=ScriptedModel(play=play, price=Price(input=1, output=1))) as door:
        for _ in range(3):
            try:
                await ask(door, WAYS["chat-streamed"])
            except aiohttp.ClientPayloadError:
                await until(lambda: not door._open)
        costs = [exchange.cost_usd for exchange in door.exchanges()]
    assert costs[0]
    assert costs == [costs[0]] * 3


@pytest.mark.parametrize("spoken", ["openai-chat", "anthropic"], ids=["passed on", "translated"])
@pytest.mark.parametrize("way", [WAYS["chat-whole"], WAYS["chat-streamed"]], ids=["whole", "streamed"])
async def test_answers_of_a_provider_are_broken_too(spoken: str, way: Spoken) -> None:
    """Whether its bytes are passed on or translated; and the end of the answer is not lost on the way."""
    async with session_of(ScriptedModel(play=play)) as far:
        dialect = DIALECTS[spoken]
        base = f"{far.base_url}/v1" if spoken.startswith("openai") else far.base_url
        model = LiveModel(provider=Provider("acme", base_url=base, dialects=[dialect], key=far.token), price=FREE)
        async with under("tool-id@1", "truncated-json@2", model=model) as door:
            found = understood(way, (await ask(door, way))[2])
            await ask(door, way)
            first, second = door.exchanges()
    assert found.text == "All work and no play. " * 20
    assert found.calls[0].arguments == {"path": "a.txt"}
    assert found.calls[0].id.startswith("changed_")
    assert (first.fault, first.error) == ("tool-id@1", None)
    assert (second.fault, reason(second)) == ("truncated-json@2", "cut")


async def test_a_provider_that_refuses_is_passed_on_with_its_wish() -> None:
    """Its own 429 reaches the agent with the header that says when to come back."""

    async def limited(_: Any) -> aiohttp.web.Response:
        return aiohttp.web.json_response({"error": {"message": "slow"}}, status=429, headers={"Retry-After": "9"})

    async with provider(limited) as (url, _):
        dialects = [DIALECTS["openai-chat"]]
        model = LiveModel(provider=Provider("acme", base_url=f"{url}/v1", dialects=dialects, key="k"), price=FREE)
        async with under("cut@1", model=model) as door, asking(door, WAYS["chat-whole"]) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "9")
            await answer.read()
            assert (only(door).fault, reason(only(door))) == (None, "rate_limit")


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("429", openai.RateLimitError),
        ("500", openai.InternalServerError),
        ("503", openai.InternalServerError),
        ("529", openai.InternalServerError),
        ("refused", openai.APIConnectionError),
        ("hang", openai.APITimeoutError),
        ("cut", Exception),
        ("malformed-sse", ValueError),
        ("truncated-json", ValueError),
    ],
)
async def test_the_official_client_notices(rule: str, error: type[Exception], stream: bool) -> None:
    """Without retries each failure becomes an error of the client; once the fault is over it is served."""
    async with (
        under(f"{rule}@1") as door,
        openai.AsyncOpenAI(base_url=f"{door.base_url}/v1", api_key=door.token, max_retries=0) as client,
    ):

        async def turn(seconds: float) -> str:
            messages: Any = USER
            if not stream:
                whole = await client.chat.completions.create(model="played", messages=messages, timeout=seconds)
                return str(whole.choices[0].message.content)
            pieces = await client.chat.completions.create(
                model="played", messages=messages, stream=True, timeout=seconds
            )
            return "".join([piece.choices[0].delta.content or "" async for piece in pieces if piece.choices])

        with pytest.raises(error):
            await turn(0.3 if rule == "hang" else 30.0)
        assert "I can't do that" in await turn(30.0)
        await until(lambda: not door._open)
        assert [exchange.fault for exchange in door.exchanges()] == [f"{rule}@1", None]


@pytest.mark.parametrize("rule", ["429@1-2:retry_after=0", "500@1-2:retry_after=0", "refused@1"])
async def test_the_official_client_copes(rule: str) -> None:
    """With its own retries it gets over what passes."""
    async with (
        under(rule) as door,
        openai.AsyncOpenAI(base_url=f"{door.base_url}/v1", api_key=door.token, max_retries=2) as client,
    ):
        messages: Any = USER
        whole = await client.chat.completions.create(model="played", messages=messages)
        assert whole.choices[0].message.content
        faults = [exchange.fault for exchange in door.exchanges()]
    assert faults[-1] is None
    assert set(faults[:-1]) == {rule}
