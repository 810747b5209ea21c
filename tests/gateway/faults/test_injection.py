"""Fault injection: what an agent receives, in every dialect, and what is recorded."""

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

from demeanor.core.values.exchange import Exchange, Response
from demeanor.core.values.fault import FaultKind, parse_faults
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.errors import read_error
from demeanor.gateway.dialects.stream_events import Interrupted, assemble
from demeanor.gateway.models.live_model import LiveModel
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.models.provider import Provider
from demeanor.gateway.script import Answer, ScriptedModel, Turn
from demeanor.gateway.server.session import Session
from tests.gateway.helpers import a_tool, a_trial, chat, post, provider, running, session_of

SCHEMA: Any = a_tool("read_file", "path").schema
USER = [{"role": "user", "content": "What does it say?"}]


@dataclass(frozen=True)
class Spoken:
    """One way to send a request."""

    dialect: str
    path: str
    key: str
    body: dict[str, Any]
    streamed: bool = False


def ways() -> dict[str, Spoken]:
    """The same request in every dialect and framing."""
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
    """A model that writes some text and then calls a tool."""
    return Answer(text="All work and no play. " * 20, calls=(turn.call("read", path="a.txt"),))


@dataclass
class CountingScript:
    """A script that counts its calls."""

    asked: int = 0

    def __call__(self, turn: Turn) -> Answer:
        self.asked += 1
        return play(turn)


@asynccontextmanager
async def under(*rules: str, model: Any = None, seed: int = 1) -> AsyncIterator[Session]:
    """A session of a trial with these faults."""
    trial = a_trial()
    scenario = replace(trial.eval.scenario, faults=parse_faults(rules, where="here"))
    trial = replace(trial, eval=replace(trial.eval, scenario=scenario))
    async with (
        running({"played": model or ScriptedModel(play=play)}) as gateway,
        gateway.session(trial, seed=seed) as session,
    ):
        yield session


@asynccontextmanager
async def asking(session: Session, way: Spoken) -> AsyncIterator[aiohttp.ClientResponse]:
    """A request in progress."""
    key = f"Bearer {session.token}" if way.key == "Authorization" else session.token
    async with (
        aiohttp.ClientSession(headers={way.key: key}) as client,
        client.post(session.base_url + way.path, json=way.body) as answer,
    ):
        yield answer


async def ask(session: Session, way: Spoken) -> tuple[int, str, bytes]:
    """Status, content type and body of a response."""
    async with asking(session, way) as answer:
        return answer.status, answer.headers["Content-Type"], await answer.read()


async def undisturbed(way: Spoken) -> tuple[int, str, bytes]:
    """The response without a fault."""
    async with under() as session:
        return await ask(session, way)


def understood(way: Spoken, body: bytes) -> Response:
    """What a client of the dialect reads from a body."""
    dialect = DIALECTS[way.dialect]
    if not way.streamed:
        return dialect.read_response(body)
    reader = dialect.stream_reader()
    deltas = [*reader.feed(body), *reader.close()]
    assert not [delta for delta in deltas if isinstance(delta, Interrupted)]
    return assemble(deltas)


def only(session: Session) -> Exchange:
    """The only exchange."""
    (exchange,) = session.exchanges()
    return exchange


def reason(exchange: Exchange) -> str | None:
    """The reason of its error."""
    return exchange.error.reason if exchange.error else None


async def until(condition: Any) -> None:
    """Let the event loop run until a condition holds."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it never came to be"
        await asyncio.sleep(0)


@every_way
@pytest.mark.parametrize(
    ("kind", "failure"), [("429", "rate_limit"), ("500", "server"), ("503", "overloaded"), ("529", "overloaded")]
)
async def test_a_status(way: Spoken, kind: str, failure: str) -> None:
    """An error of the dialect is sent at once; the model is not called and nothing is spent."""
    played = CountingScript()
    async with under(
        f"{kind}@1:retry_after=7", model=ScriptedModel(play=played, price=Price(input=1, output=1))
    ) as session:
        async with asking(session, way) as answer:
            body = await answer.read()
            assert (answer.status, answer.headers["Retry-After"]) == (int(kind), "7")
        exchange = only(session)
        assert (await ask(session, way))[0] == 200
    error = read_error(int(kind), body)
    assert (error.reason, error.message) == (failure, f"injected fault {kind}@1:retry_after=7")
    assert exchange.error == error
    assert (exchange.fault, exchange.response, exchange.cost_usd) == (f"{kind}@1:retry_after=7", None, 0.0)
    assert played.asked == 1


@pytest.mark.parametrize(("rule", "header"), [("429", "1"), ("429:retry_after=0", "0"), ("500", None), ("529", None)])
async def test_only_a_429_has_a_default_retry_after(rule: str, header: str | None) -> None:
    """As with real providers."""
    async with under(rule) as session, asking(session, WAYS["chat-whole"]) as answer:
        assert answer.headers.get("Retry-After") == header


@every_way
async def test_refused(way: Spoken) -> None:
    """The connection is closed without a byte."""
    played = CountingScript()
    async with under("refused@1", model=ScriptedModel(play=played)) as session:
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await ask(session, way)
        await until(lambda: not session._open)
        exchange = only(session)
    assert (exchange.fault, reason(exchange), exchange.first_byte, played.asked) == (
        "refused@1",
        "unreachable",
        None,
        0,
    )


@every_way
async def test_hang(way: Spoken) -> None:
    """Nothing is sent; meanwhile the session waits for the provider."""
    async with under("hang@1") as session:
        client = asyncio.create_task(ask(session, way))
        await until(session.waiting)
        meanwhile = only(session)
        client.cancel()
        await asyncio.gather(client, return_exceptions=True)
        await until(lambda: not session.waiting())
        assert only(session).fault == meanwhile.fault == "hang@1"
        assert reason(only(session)) == reason(meanwhile) == "stalled"
        assert only(session).first_byte is None


async def test_a_hang_ends_with_its_session() -> None:
    """Closing the session ends the request."""
    async with under("hang") as session:
        client = asyncio.create_task(ask(session, WAYS["chat-whole"]))
        await until(session.waiting)
    with pytest.raises(aiohttp.ClientError):
        await client


@every_way
async def test_drip(way: Spoken) -> None:
    """The response is the same, but slow; once it is complete, there is no error."""
    good = await undisturbed(way)
    async with under("drip@1:delay=0.002") as session:
        started = time.monotonic()
        assert await ask(session, way) == good
        took = time.monotonic() - started
        exchange = only(session)
    assert took >= 0.01
    assert (exchange.fault, exchange.error) == ("drip@1:delay=0.002", None)
    assert exchange.response
    assert exchange.response.calls[0].name == "read_file"


@every_way
async def test_a_drip_that_the_agent_does_not_wait_for_is_a_stall(way: Spoken) -> None:
    """The provider owes the response while it drips, and the error remains after the agent disconnects."""
    async with under("drip:delay=3600") as session:
        async with asking(session, way) as answer:
            assert await answer.content.readany()
            assert session.waiting()
            assert reason(only(session)) == "stalled"
        await until(lambda: not session.waiting())
        assert reason(only(session)) == "stalled"


@every_way
async def test_cut(way: Spoken) -> None:
    """About half of the response arrives before the connection is closed; that half is recorded."""
    good = (await undisturbed(way))[2]
    async with under("cut@1") as session:
        got = b""
        async with asking(session, way) as answer:
            assert answer.status == 200
            try:
                async with asyncio.timeout(10):
                    async for chunk in answer.content.iter_any():
                        got += chunk
            except aiohttp.ClientPayloadError:
                pass
            else:
                pytest.fail("it ended as if nothing were wrong")
        await until(lambda: not session._open)
        exchange = only(session)
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
    """Half of the response arrives with a proper end; no client can take it for complete."""
    good = (await undisturbed(way))[2]
    async with under("truncated-json") as session:
        status, _, got = await ask(session, way)
        exchange = only(session)
    assert status == 200
    assert good.startswith(got.removesuffix(b"\n\n"))
    assert 0.2 < len(got) / len(good) < 0.8
    assert (exchange.fault, reason(exchange)) == ("truncated-json", "cut")
    if way.streamed:
        reader = DIALECTS[way.dialect].stream_reader()
        deltas = [*reader.feed(got), *reader.close()]
        assert [delta for delta in deltas if isinstance(delta, Interrupted)]
        last = got.rstrip().rpartition(b"\n")[2].removeprefix(b",").removeprefix(b"data: ")
    else:
        last = got
    with pytest.raises(json.JSONDecodeError):
        json.loads(last)


@every_way
async def test_malformed_sse(way: Spoken) -> None:
    """A stream has one broken event among the good ones; another body is not JSON."""
    good = (await undisturbed(way))[2]
    async with under("malformed-sse") as session:
        status, kind, got = await ask(session, way)
        exchange = only(session)
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
    """Wherever the middle of the stream is, a client that skips invalid JSON gets the whole response once."""
    text = "x" * 40 * pieces
    model = ScriptedModel(play=lambda turn: Answer(text=text, calls=(turn.call("read", path="a.txt"),) * calls))
    async with under("malformed-sse@2", model=model) as session:
        _, _, good = await ask(session, way)
        _, kind, got = await ask(session, way)
    if kind == "text/event-stream":
        kept = [event for event in got.split(b"\n\n") if b"data: {" not in event or is_json(event)]
        assert b"\n\n".join(kept) == good != got
    else:
        assert not is_json(got)


def is_json(event: bytes) -> bool:
    """Whether the data of an event is JSON."""
    try:
        json.loads(event.rpartition(b"data: ")[2])
    except json.JSONDecodeError:
        return False
    return True


@every_way
async def test_content_type(way: Spoken) -> None:
    """The response is the same with another content type."""
    good = await undisturbed(way)
    async with under("content-type@1", "content-type@2:content_type=text/plain") as session:
        assert await ask(session, way) == (good[0], "text/html", good[2])
        assert await ask(session, way) == (good[0], "text/plain", good[2])
        first, _ = session.exchanges()
    assert (first.fault, first.error) == ("content-type@1", None)
    assert first.response


@every_way
async def test_empty(way: Spoken) -> None:
    """A valid response without text and calls."""
    async with under("empty@1") as session:
        status, _, got = await ask(session, way)
        exchange = only(session)
    assert status == 200
    assert (understood(way, got).text, understood(way, got).calls) == ("", ())
    assert (exchange.fault, exchange.error) == ("empty@1", None)
    assert exchange.response
    assert exchange.response.parts == ()


@every_way
async def test_tool_id(way: Spoken) -> None:
    """The calls are the same with other ids, which are recorded too; the same trial gets the same ids."""
    good = understood(way, (await undisturbed(way))[2])
    ids = set()
    for _ in range(2):
        async with under("tool-id@1") as session:
            found = understood(way, (await ask(session, way))[2])
            exchange = only(session)
        (call,) = found.calls
        assert exchange.fault == "tool-id@1"
        assert exchange.response
        assert exchange.response.calls[0].id.startswith("changed_")
        assert call.arguments == good.calls[0].arguments
        assert call.id != good.calls[0].id
        assert found.text == good.text
        ids.add(call.id)
    assert len(ids) == 1


def test_every_kind_is_tested() -> None:
    """Each kind has a test above."""
    tests = " ".join(name.replace("_", "-") for name in globals() if name.startswith("test_"))
    assert [kind for kind in FaultKind if not kind.isdigit() and f"test-{kind}" not in tests] == []


async def test_the_first_matching_rule_counts() -> None:
    """Other exchanges are not affected."""
    async with under("500@2", "503@1-3") as session:
        statuses = [(await ask(session, WAYS["chat-whole"]))[0] for _ in range(4)]
        faults = [exchange.fault for exchange in session.exchanges()]
    assert statuses == [503, 500, 503, 200]
    assert faults == ["503@1-3", "500@2", "503@1-3", None]


async def test_probability_depends_on_the_seed_alone() -> None:
    """The same seed breaks the same exchanges."""

    async def broken(seed: int) -> list[int]:
        async with under("500@50%", seed=seed) as session:
            return [(await ask(session, WAYS["chat-whole"]))[0] for _ in range(12)]

    first, again, other = await broken(1), await broken(1), await broken(2)
    assert first == again
    assert first != other
    assert {200, 500} == set(first)


async def test_other_requests_are_neither_broken_nor_counted() -> None:
    """Token counts, lists of models and unknown paths are left alone."""
    anthropic = WAYS["anthropic-whole"]
    async with under("500") as session:
        assert (await ask(session, replace(anthropic, path="/v1/messages/count_tokens")))[0] == 200
        assert (await post(session, chat(), token="guessed")).status == 401
        assert (await ask(session, anthropic))[0] == 500


async def test_an_error_of_the_model_is_passed_on_unchanged() -> None:
    """No fault is recorded."""
    async with under("cut@1", model=ScriptedModel(play=lambda _: str(1 / 0))) as session:
        assert (await ask(session, WAYS["chat-streamed"]))[0] == 500
        assert (only(session).fault, reason(only(session))) == (None, "server")


async def test_faults_that_were_not_injected_are_noted() -> None:
    """A rule without a matching exchange, or with nothing to change, is noted; a probability is not."""
    async with under("cut@2", "500@0.001%", "tool-id@1", model=ScriptedModel(play=lambda _: "Hi.")) as session:
        await ask(session, WAYS["chat-whole"])
        assert only(session).fault is None
        assert [note for note in session.notes if "fault" in note] == [
            f"the fault {rule} was not injected: 1 exchange, and none that it could break"
            for rule in ("cut@2", "tool-id@1")
        ]


async def test_a_broken_answer_costs_what_it_cost() -> None:
    """The model was called, so its cost counts, whatever the agent received."""
    async with under("cut@1", "empty@2", model=ScriptedModel(play=play, price=Price(input=1, output=1))) as session:
        for _ in range(3):
            try:
                await ask(session, WAYS["chat-streamed"])
            except aiohttp.ClientPayloadError:
                await until(lambda: not session._open)
        costs = [exchange.cost_usd for exchange in session.exchanges()]
    assert costs[0]
    assert costs == [costs[0]] * 3


@pytest.mark.parametrize("spoken", ["openai-chat", "anthropic"], ids=["passed on", "translated"])
@pytest.mark.parametrize("way", [WAYS["chat-whole"], WAYS["chat-streamed"]], ids=["whole", "streamed"])
async def test_responses_of_a_provider_are_broken_too(spoken: str, way: Spoken) -> None:
    """Whether its bytes are forwarded or translated; the end of the response is not lost."""
    async with session_of(ScriptedModel(play=play)) as far:
        dialect = DIALECTS[spoken]
        base = f"{far.base_url}/v1" if spoken.startswith("openai") else far.base_url
        acme = Provider("acme", base_url=base, dialects=[dialect], key=far.token)
        model = LiveModel(provider=acme, model="played", price=FREE)
        async with under("tool-id@1", "truncated-json@2", model=model) as session:
            found = understood(way, (await ask(session, way))[2])
            await ask(session, way)
            first, second = session.exchanges()
    assert found.text == "All work and no play. " * 20
    assert found.calls[0].arguments == {"path": "a.txt"}
    assert found.calls[0].id.startswith("changed_")
    assert (first.fault, first.error) == ("tool-id@1", None)
    assert (second.fault, reason(second)) == ("truncated-json@2", "cut")


async def test_an_error_of_a_provider_keeps_its_retry_after() -> None:
    """The provider's own 429 reaches the agent with its header."""

    async def limited(_: Any) -> aiohttp.web.Response:
        return aiohttp.web.json_response({"error": {"message": "slow"}}, status=429, headers={"Retry-After": "9"})

    async with provider(limited) as (url, _):
        dialects = [DIALECTS["openai-chat"]]
        acme = Provider("acme", base_url=f"{url}/v1", dialects=dialects, key="k")
        model = LiveModel(provider=acme, model="played", price=FREE)
        async with under("cut@1", model=model) as session, asking(session, WAYS["chat-whole"]) as answer:
            assert (answer.status, answer.headers["Retry-After"]) == (429, "9")
            await answer.read()
            assert (only(session).fault, reason(only(session))) == (None, "rate_limit")


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
    """Without retries, each fault becomes an exception of the client; after the fault, requests succeed."""
    async with (
        under(f"{rule}@1") as session,
        openai.AsyncOpenAI(base_url=f"{session.base_url}/v1", api_key=session.token, max_retries=0) as client,
    ):

        async def turn(seconds: float) -> str:
            messages: Any = USER
            if not stream:
                complete = await client.chat.completions.create(model="played", messages=messages, timeout=seconds)
                return str(complete.choices[0].message.content)
            pieces = await client.chat.completions.create(
                model="played", messages=messages, stream=True, timeout=seconds
            )
            return "".join([piece.choices[0].delta.content or "" async for piece in pieces if piece.choices])

        with pytest.raises(error):
            await turn(0.3 if rule == "hang" else 30.0)
        assert "I can't do that" in await turn(30.0)
        await until(lambda: not session._open)
        assert [exchange.fault for exchange in session.exchanges()] == [f"{rule}@1", None]


@pytest.mark.parametrize("rule", ["429@1-2:retry_after=0", "500@1-2:retry_after=0", "refused@1"])
async def test_the_official_client_copes(rule: str) -> None:
    """With its own retries, the client recovers from a temporary fault."""
    async with (
        under(rule) as session,
        openai.AsyncOpenAI(base_url=f"{session.base_url}/v1", api_key=session.token, max_retries=2) as client,
    ):
        messages: Any = USER
        complete = await client.chat.completions.create(model="played", messages=messages)
        assert complete.choices[0].message.content
        faults = [exchange.fault for exchange in session.exchanges()]
    assert faults[-1] is None
    assert set(faults[:-1]) == {rule}
