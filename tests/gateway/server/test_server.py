"""The server: addresses and tokens, what is recorded, and how it ends."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from demeanor.core.errors import UsageError
from demeanor.core.exchange import StopReason
from demeanor.core.messages import Text
from demeanor.core.ports import Gateway, GatewaySession
from demeanor.gateway.dialects.stream_events import Delta, PartGrew, PartOpened
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.models.upstream import Ask, Reply, Streamed
from demeanor.gateway.script import Answer, ScriptedModel, scripted
from demeanor.gateway.server.server import GatewayServer
from tests.gateway.lab import a_trial, ask, chat, playing, post, running, session_of


class Endless:
    """An upstream that never comes to an end, and knows whether somebody still listens."""

    notes = ()
    price: Price | None = FREE
    secret = ""
    listened = False
    hung_up = False

    @asynccontextmanager
    async def answer(self, ask: Ask) -> AsyncIterator[Reply]:
        """Streams for ever."""
        try:
            self.listened = True
            yield Streamed(deltas=self._deltas())
        finally:
            self.hung_up = True

    async def _deltas(self) -> AsyncIterator[Delta]:
        yield PartOpened(index=0, part=Text(text=""))
        yield PartGrew(index=0, text="and so on")
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Holds nothing."""


async def until(condition: object, *, seconds: float = 5.0) -> None:
    """Let the loop run until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came to be"
        await asyncio.sleep(0)


def test_it_is_a_gateway() -> None:
    """The server and its sessions are what the ports promise."""
    gateway: Gateway = GatewayServer({"scripted": scripted()})
    assert gateway
    assert GatewaySession


async def test_a_request_becomes_an_exchange() -> None:
    """What was asked and answered is recorded in order, with its times."""
    async with playing(lambda turn: f"You said {turn.prompt}") as door:
        await post(door, chat("one"))
        await post(door, chat("two", stream=True))
        first, second = door.exchanges()
    assert (first.number, second.number, first.dialect) == (1, 2, "openai-chat")
    assert first.request.messages[0].text == "one"
    assert first.response
    assert (first.response.text, first.response.stop) == ("You said one", StopReason.END)
    assert second.response
    assert second.response.text == "You said two"
    assert first.first_byte is not None
    assert 0 <= first.started <= first.first_byte <= first.ended <= second.started


async def test_a_stream_says_the_same_as_a_whole_answer() -> None:
    """The pieces of a streamed answer make up the answer."""
    text = "All work and no play. " * 50
    async with playing(lambda _: text) as door:
        whole = json.loads((await post(door, chat())).body)
        streamed = await post(door, chat(stream=True))
    events = [json.loads(line[6:]) for line in streamed.body.splitlines() if line.startswith(b"data: {")]
    assert streamed.headers["Content-Type"] == "text/event-stream"
    assert len(events) > 10
    assert "".join(event["choices"][0]["delta"].get("content") or "" for event in events) == text
    assert whole["choices"][0]["message"]["content"] == text


async def test_a_wrong_token_is_refused() -> None:
    """Without the session's token there is an error of the dialect, no exchange, and a note."""
    async with playing(lambda _: "secret") as door:
        answer = await post(door, chat(), token="guessed")
        assert answer.status == 401
        assert "token" in json.loads(answer.body)["error"]["message"]
        assert door.exchanges() == ()
        assert door.notes[-1] == "a request without the session's token was refused"


async def test_two_sessions_never_see_each_other() -> None:
    """Each has its own address and token; one's token opens nothing at the other's address."""
    async with (
        running({"played": ScriptedModel(play=lambda turn: turn.prompt)}) as gateway,
        gateway.session(a_trial(number=1), seed=1) as one,
        gateway.session(a_trial(number=2), seed=2) as two,
    ):
        await asyncio.gather(*(post(door, chat(name)) for door, name in ((one, "one"), (two, "two")) for _ in range(9)))
        assert (await post(one, chat("spy"), token=two.token)).status == 401
        assert {exchange.request.messages[0].text for exchange in one.exchanges()} == {"one"}
        assert {exchange.request.messages[0].text for exchange in two.exchanges()} == {"two"}
        assert [exchange.number for exchange in two.exchanges()] == list(range(1, 10))


async def test_an_ended_session_is_closed() -> None:
    """Nobody can use a session's address once the attempt is over; what it saw stays readable."""
    async with running({"played": ScriptedModel(play=lambda _: "Hi.")}) as gateway:
        async with gateway.session(a_trial(), seed=1) as door:
            await post(door, chat())
        assert (await post(door, chat())).status == 401
        assert len(door.exchanges()) == 1


@pytest.mark.parametrize("method", ["HEAD", "GET"])
@pytest.mark.parametrize("path", ["", "/", "/favicon.ico", "/v1/whatever/there/is"])
async def test_probes_are_answered_politely(method: str, path: str) -> None:
    """Agents ask for signs of life in many ways; they need no token and are no exchanges."""
    async with playing(lambda _: "Hi.") as door:
        assert (await ask(method, door.base_url + path)).status == 200
        assert door.exchanges() == ()


async def test_an_unknown_question_is_not_found() -> None:
    """A POST that no dialect knows is refused, and so is every address that belongs to no session."""
    async with playing(lambda _: "Hi.") as door:
        assert (await post(door, {}, path="/api/telemetry")).status == 404
        assert (await ask("GET", door.base_url.replace("/t/", "/t/x") + "/v1/models")).status == 401


async def test_models_are_listed() -> None:
    """The list of models names what is configured."""
    async with playing(lambda _: "Hi.") as door:
        answer = await ask("GET", f"{door.base_url}/v1/models", Authorization=f"Bearer {door.token}")
        assert [model["id"] for model in json.loads(answer.body)["data"]] == ["played"]
        assert (await ask("GET", f"{door.base_url}/v1/models")).status == 401


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": 1}', b"\xff\xfe", b'{"messages": "x"}'])
async def test_an_unreadable_request_is_recorded(body: bytes) -> None:
    """A malformed request is answered with the dialect's 400 and is visible in the trajectory."""
    async with playing(lambda _: "Hi.") as door:
        answer = await post(door, body)
        (exchange,) = door.exchanges()
    assert answer.status == 400
    assert json.loads(answer.body)["error"]["message"]
    assert exchange.error
    assert (exchange.error.status, exchange.error.reason) == (400, "bad_request")
    assert exchange.request.extra["unreadable"] == body.decode("utf-8", "backslashreplace")


async def test_a_large_request_is_read_and_a_giant_one_refused() -> None:
    """Sixty-four megabytes are enough for anyone."""
    async with playing(lambda turn: str(len(turn.prompt))) as door:
        assert (await post(door, chat("x" * 20_000_000))).status == 200
        answer = await post(door, b" " * (64 * 2**20 + 1))
        assert answer.status == 413
        assert [exchange.error and exchange.error.status for exchange in door.exchanges()] == [None, 413]


async def test_a_client_that_waits_for_leave_gets_it() -> None:
    """Some clients ask before they send a large body."""
    async with playing(lambda _: "Hi.") as door:
        body = json.dumps(chat()).encode()
        reader, writer = await asyncio.open_connection(*door.address.removeprefix("http://").split(":"))
        path = f"/t/{door.id}/v1/chat/completions"
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {door.token}\r\nExpect: 100-continue\r\n"
        writer.write(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        writer.write(body)
        assert b"HTTP/1.1 200 OK" in await reader.read()
        writer.close()


@pytest.mark.parametrize("rubbish", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"x" * 99_999])
async def test_rubbish_does_no_harm(rubbish: bytes) -> None:
    """What is no HTTP is turned away, and the next request is answered."""
    async with playing(lambda _: "Hi.") as door:
        reader, writer = await asyncio.open_connection(*door.address.removeprefix("http://").split(":"))
        writer.write(rubbish)
        writer.write_eof()
        assert b"200" not in (await reader.read())[:20]
        writer.close()
        assert (await post(door, chat())).status == 200


async def test_a_side_model_is_answered_by_the_subject_model() -> None:
    """An agent that asks for a model nobody configured gets the trial's own, and a note says so."""
    async with playing(lambda _: "a title") as door:
        assert (await post(door, chat(model="tiny-titles"))).status == 200
        assert door.notes[-1] == (
            "the agent asked for the model 'tiny-titles', which is not configured; 'played' was asked instead"
        )


async def test_a_side_model_is_not_paid_for_at_another_price() -> None:
    """What a model costs that nobody configured is not known, whoever answered."""
    async with session_of(ScriptedModel(play=lambda _: "Hi.", price=Price(input=1.0, output=1.0))) as door:
        await post(door, chat())
        await post(door, chat(model="tiny-titles"))
        known, unknown = (exchange.cost_usd for exchange in door.exchanges())
    assert known
    assert unknown is None


async def test_an_unknown_model_is_an_error() -> None:
    """Where the subject's model is not configured either, the dialect's error says which one was asked for."""
    async with running({}) as gateway, gateway.session(a_trial("nobody"), seed=1) as door:
        answer = await post(door, chat(model="nobody"))
        assert answer.status == 404
        assert "'nobody'" in json.loads(answer.body)["error"]["message"]


async def test_a_script_that_fails_is_a_failed_exchange() -> None:
    """An exception in a script is told to the agent and recorded, and the server lives on."""
    async with playing(lambda _: str(1 / 0)) as door:
        assert (await post(door, chat())).status == 500
        (exchange,) = door.exchanges()
    assert exchange.error
    assert exchange.error.reason == "server"
    assert "ZeroDivisionError" in exchange.error.message


async def test_an_upstream_that_crashes_is_a_failed_exchange() -> None:
    """Whatever goes wrong inside of the gateway is told as an error of the dialect."""

    class Broken(Endless):
        @asynccontextmanager
        async def answer(self, ask: Ask) -> AsyncIterator[Reply]:
            raise RuntimeError("no luck")
            yield

    async with session_of(Broken()) as door:
        answer = await post(door, chat())
        assert answer.status == 500
        assert "no luck" in json.loads(answer.body)["error"]["message"]
        assert door.exchanges()[0].error


async def test_it_knows_when_an_answer_is_owed() -> None:
    """While the model thinks the session waits; before and after it does not."""
    async with playing(lambda _: Answer(text="Hm.", wait=0.05)) as door:
        before = door.last_activity()
        assert not door.waiting()
        asking = asyncio.ensure_future(post(door, chat()))
        await until(door.waiting)
        assert door.exchanges()[0].response is None
        await asking
        assert not door.waiting()
        assert door.last_activity() > before


async def test_an_agent_that_hangs_up_cancels_its_upstream() -> None:
    """A provider is not kept busy for nobody; the exchange stays, as far as it came."""
    endless = Endless()
    async with session_of(endless) as door, aiohttp.ClientSession() as client:
        headers = {"Authorization": f"Bearer {door.token}"}
        answer = await client.post(f"{door.base_url}/v1/chat/completions", json=chat(stream=True), headers=headers)
        await answer.content.readany()
        answer.close()
        await until(lambda: endless.hung_up)
        await until(lambda: not door.waiting())
        (exchange,) = door.exchanges()
    assert exchange.error is None
    assert exchange.response
    assert exchange.response.stop is StopReason.UNKNOWN


async def test_stopping_ends_open_streams_at_once() -> None:
    """Stopping needs no patience: what is open is cut, the port is free, and nothing is left in the loop."""
    endless = Endless()
    gateway = GatewayServer({"played": endless})
    await gateway.start()
    async with gateway.session(a_trial(), seed=1) as door:
        asking = asyncio.ensure_future(post(door, chat(stream=True)))
        await until(lambda: endless.listened)
        started = time.monotonic()
        await gateway.stop()
        assert time.monotonic() - started < 0.9
    with pytest.raises(aiohttp.ClientError):
        await asking
    assert endless.hung_up
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(gateway.address.rpartition(":")[2])), timeout=1)


async def test_it_listens_on_a_unix_socket(tmp_path: Path) -> None:
    """With a path it listens there and nowhere else, and takes the file away at the end."""
    path = tmp_path / "gateway.sock"
    async with (
        running({"played": ScriptedModel(play=lambda _: "Hi.")}, unix_path=path) as gateway,
        gateway.session(a_trial(), seed=1) as door,
    ):
        assert path.stat().st_mode & 0o077 == 0
        answer = await post(door, chat(), connector=aiohttp.UnixConnector(path=str(path)))
        assert answer.status == 200
    assert not path.exists()


async def test_a_place_that_is_taken_is_a_clear_error(tmp_path: Path) -> None:
    """Where it can't listen, the error names the place."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"can't listen on 127.0.0.1:{port}: Address already in use"):
            await GatewayServer({}, port=port).start()
    with pytest.raises(UsageError, match="No such file or directory"):
        await GatewayServer({}, unix_path=tmp_path / "no" / "sock").start()


async def test_it_listens_on_a_socket_handed_in() -> None:
    """A listening socket made by somebody else, perhaps in another network namespace, serves as well."""
    sock = socket.create_server(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    async with (
        running({"played": ScriptedModel(play=lambda _: "Hi.")}, sock=sock) as gateway,
        gateway.session(a_trial(), seed=1) as door,
    ):
        assert door.base_url.startswith(f"http://127.0.0.1:{port}/t/")
        assert (await post(door, chat())).status == 200


async def test_a_session_can_have_a_socket_of_its_own() -> None:
    """On its own socket a session is reached and nobody else, and the socket ends with it."""
    with socket.create_server(("127.0.0.1", 0)) as own:
        async with (
            running({"played": ScriptedModel(play=lambda _: "Hi.")}) as gateway,
            gateway.session(a_trial(), seed=1) as other,
        ):
            async with gateway.session(a_trial(), seed=1) as door:
                shared = door.base_url
                await door.listen(own)
                assert door.base_url != shared
                assert (await post(door, chat())).status == 200
                other.address = door.address
                assert (await post(other, chat())).status == 401
            with pytest.raises(aiohttp.ClientConnectorError):
                await post(door, chat())


async def test_every_upstream_that_was_used_is_closed() -> None:
    """Also where models are found by a function, nothing stays open."""

    class Counting(Endless):
        closed = 0

        async def close(self) -> None:
            self.closed += 1

    used, unused = Counting(), Counting()
    async with (
        running({"played": used, "unused": unused}.get) as gateway,
        gateway.session(a_trial(), seed=1),
        gateway.session(a_trial(number=2), seed=1),
    ):
        assert used.closed == 0
    assert (used.closed, unused.closed) == (1, 0)


async def test_requests_of_a_trial_share_what_they_repeat() -> None:
    """Every request repeats the conversation; in memory it stands once, and nothing of it is changed."""
    turns = [{"role": "user", "content": f"turn {number}"} for number in range(3)]
    async with playing(lambda _: "Hi.") as door:
        for number in range(1, 4):
            await post(door, {"model": "played", "messages": turns[:number]})
        await post(door, {"model": "played", "messages": [turns[0], turns[2]]})
        first, second, third, other = (exchange.request.messages for exchange in door.exchanges())
    assert [message.text for message in third] == ["turn 0", "turn 1", "turn 2"]
    assert [message.text for message in other] == ["turn 0", "turn 2"]
    assert third[0] is second[0] is first[0] is other[0]
    assert third[1] is second[1]


async def test_counters_add_up() -> None:
    """The live numbers count sessions, exchanges, tokens, money and errors over all sessions."""
    async with running({"played": ScriptedModel(play=lambda turn: str(1 / len(turn.prompt[1:])))}) as gateway:
        async with gateway.session(a_trial(), seed=1) as door:
            await post(door, chat("many words"))
            await post(door, chat("1"))
            counters = gateway.counters()
            assert (counters.sessions, counters.open, counters.exchanges) == (1, 0, 2)
            assert counters.errors == {"server": 1}
            assert counters.input_tokens > 10
            assert counters.cost_usd == 0.0
        assert gateway.counters().sessions == 0


async def test_a_free_model_costs_nothing_and_an_unpriced_one_an_unknown_sum() -> None:
    """Zero is a price; no price is none."""
    free, unpriced = ScriptedModel(play=lambda _: "Hi."), ScriptedModel(play=lambda _: "Hi.", price=None)
    async with running({"free": free, "played": unpriced}) as gateway, gateway.session(a_trial(), seed=1) as door:
        await post(door, chat(model="free"))
        await post(door, chat(model="played"))
        assert [exchange.cost_usd for exchange in door.exchanges()] == [0.0, None]
        assert gateway.counters().unpriced == 1
