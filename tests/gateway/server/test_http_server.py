"""The server: URLs and tokens, recording, and shutting down."""

from __future__ import annotations

import asyncio
import gc
import json
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from demeanor.core.values.errors import UsageError
from demeanor.core.values.exchange import StopReason, Usage
from demeanor.core.values.gateway_limits import GatewayLimits
from demeanor.core.values.messages import Text
from demeanor.core.values.ports import Gateway, GatewaySession
from demeanor.gateway.dialects.stream_events import Delta, PartGrew, PartOpened
from demeanor.gateway.models.prices import FREE, Price
from demeanor.gateway.models.upstream import ModelCall, Reply, StreamReply
from demeanor.gateway.script import Answer, ScriptedModel, scripted
from demeanor.gateway.server.http_server import GatewayServer
from tests.gateway.helpers import a_trial, ask, chat, playing, post, running, session_of


class Endless:
    """An upstream that streams forever, and knows whether a client is connected."""

    notes = ()
    price: Price | None = FREE
    listened = False
    hung_up = False

    @asynccontextmanager
    async def answer(self, call: ModelCall) -> AsyncIterator[Reply]:
        """Stream forever."""
        try:
            self.listened = True
            yield StreamReply(deltas=self._deltas())
        finally:
            self.hung_up = True

    async def _deltas(self) -> AsyncIterator[Delta]:
        yield PartOpened(index=0, part=Text(text=""))
        yield PartGrew(index=0, text="and so on")
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Nothing to release."""


async def until(condition: object, *, seconds: float = 5.0) -> None:
    """Let the event loop run until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never came to be"
        await asyncio.sleep(0)


def test_it_implements_the_ports() -> None:
    """The server and its sessions satisfy the protocols."""
    gateway: Gateway = GatewayServer({"scripted": scripted()})
    assert gateway
    assert GatewaySession


async def test_a_request_becomes_an_exchange() -> None:
    """Requests and responses are recorded in order, with their times."""
    async with playing(lambda turn: f"You said {turn.prompt}") as session:
        await post(session, chat("one"))
        await post(session, chat("two", stream=True))
        first, second = session.exchanges()
    assert (first.number, second.number, first.dialect) == (1, 2, "openai-chat")
    assert first.request.messages[0].text == "one"
    assert first.response
    assert (first.response.text, first.response.stop) == ("You said one", StopReason.END)
    assert second.response
    assert second.response.text == "You said two"
    assert first.first_byte is not None
    assert 0 <= first.started <= first.first_byte <= first.ended <= second.started


async def test_a_stream_equals_a_complete_response() -> None:
    """The pieces of a stream add up to the response."""
    text = "All work and no play. " * 50
    async with playing(lambda _: text) as session:
        complete = json.loads((await post(session, chat())).body)
        streamed = await post(session, chat(stream=True))
    events = [json.loads(line[6:]) for line in streamed.body.splitlines() if line.startswith(b"data: {")]
    assert streamed.headers["Content-Type"] == "text/event-stream"
    assert len(events) > 10
    assert "".join(event["choices"][0]["delta"].get("content") or "" for event in events) == text
    assert complete["choices"][0]["message"]["content"] == text


async def test_a_wrong_token_is_refused() -> None:
    """Without the session's token there is an error of the dialect, no exchange, and a note."""
    async with playing(lambda _: "secret") as session:
        answer = await post(session, chat(), token="guessed")
        assert answer.status == 401
        assert "token" in json.loads(answer.body)["error"]["message"]
        assert session.exchanges() == ()
        assert session.notes[-1] == "a request without the session's token was refused"


async def test_sessions_are_separate() -> None:
    """Each has its own URL and token; a token works for its own session only."""
    async with (
        running({"played": ScriptedModel(play=lambda turn: turn.prompt)}) as gateway,
        gateway.session(a_trial(number=1), seed=1) as one,
        gateway.session(a_trial(number=2), seed=2) as two,
    ):
        await asyncio.gather(
            *(post(session, chat(name)) for session, name in ((one, "one"), (two, "two")) for _ in range(9))
        )
        assert (await post(one, chat("spy"), token=two.token)).status == 401
        assert {exchange.request.messages[0].text for exchange in one.exchanges()} == {"one"}
        assert {exchange.request.messages[0].text for exchange in two.exchanges()} == {"two"}
        assert [exchange.number for exchange in two.exchanges()] == list(range(1, 10))


async def test_an_ended_session_is_closed() -> None:
    """Its URL no longer works, but its exchanges stay available."""
    async with running({"played": ScriptedModel(play=lambda _: "Hi.")}) as gateway:
        async with gateway.session(a_trial(), seed=1) as session:
            await post(session, chat())
        assert (await post(session, chat())).status == 401
        assert len(session.exchanges()) == 1


@pytest.mark.parametrize("method", ["HEAD", "GET"])
@pytest.mark.parametrize("path", ["", "/", "/favicon.ico", "/v1/whatever/there/is"])
async def test_health_checks_are_answered(method: str, path: str) -> None:
    """Agents use many kinds; they need no token and are not exchanges."""
    async with playing(lambda _: "Hi.") as session:
        assert (await ask(method, session.base_url + path)).status == 200
        assert session.exchanges() == ()


async def test_an_unknown_path_is_not_found() -> None:
    """A POST that no dialect knows is refused, and so is a URL without a session."""
    async with playing(lambda _: "Hi.") as session:
        assert (await post(session, {}, path="/api/telemetry")).status == 404
        assert (await ask("GET", session.base_url.replace("/t/", "/t/x") + "/v1/models")).status == 401


async def test_models_are_listed() -> None:
    """The list contains the configured models."""
    async with playing(lambda _: "Hi.") as session:
        answer = await ask("GET", f"{session.base_url}/v1/models", Authorization=f"Bearer {session.token}")
        assert [model["id"] for model in json.loads(answer.body)["data"]] == ["played"]
        assert (await ask("GET", f"{session.base_url}/v1/models")).status == 401


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'{"model": 1}', b"\xff\xfe", b'{"messages": "x"}'])
async def test_an_unreadable_request_is_recorded(body: bytes) -> None:
    """It is answered with the dialect's 400 and recorded."""
    async with playing(lambda _: "Hi.") as session:
        answer = await post(session, body)
        (exchange,) = session.exchanges()
    assert answer.status == 400
    assert json.loads(answer.body)["error"]["message"]
    assert exchange.error
    assert (exchange.error.status, exchange.error.reason) == (400, "bad_request")
    assert exchange.request.extra["unreadable"] == body.decode("utf-8", "backslashreplace")


async def test_a_large_request_is_read_and_a_giant_one_refused() -> None:
    """The limit is 64 MiB."""
    async with playing(lambda turn: str(len(turn.prompt))) as session:
        assert (await post(session, chat("x" * 20_000_000))).status == 200
        answer = await post(session, b" " * (64 * 2**20 + 1))
        assert answer.status == 413
        assert [exchange.error and exchange.error.status for exchange in session.exchanges()] == [None, 413]


async def test_expect_100_continue() -> None:
    """Some clients wait for it before they send a large body."""
    async with playing(lambda _: "Hi.") as session:
        body = json.dumps(chat()).encode()
        reader, writer = await asyncio.open_connection(*session.address.removeprefix("http://").split(":"))
        path = f"/t/{session.id}/v1/chat/completions"
        head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {session.token}\r\nExpect: 100-continue\r\n"
        writer.write(f"{head}Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        assert await reader.readline() == b"HTTP/1.1 100 Continue\r\n"
        writer.write(body)
        assert b"HTTP/1.1 200 OK" in await reader.read()
        writer.close()


@pytest.mark.parametrize("rubbish", [b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"GET / HTTP/1.1\r\nA: " + b"x" * 99_999])
async def test_invalid_http_does_no_harm(rubbish: bytes) -> None:
    """It is refused, and the next request is answered."""
    async with playing(lambda _: "Hi.") as session:
        reader, writer = await asyncio.open_connection(*session.address.removeprefix("http://").split(":"))
        writer.write(rubbish)
        writer.write_eof()
        assert b"200" not in (await reader.read())[:20]
        writer.close()
        assert (await post(session, chat())).status == 200


async def test_a_side_model_is_answered_by_the_subject_model() -> None:
    """An unconfigured model is answered by the trial's own, and a note says so."""
    async with playing(lambda _: "a title") as session:
        assert (await post(session, chat(model="tiny-titles"))).status == 200
        assert session.notes[-1] == (
            "the agent requested the model 'tiny-titles', which is not configured; 'played' was used instead"
        )


async def test_a_side_model_costs_what_the_model_that_answered_costs() -> None:
    """The same number of tokens costs the same, whichever name was requested."""
    answer = Answer(text="Hi.", usage=Usage(input=3, output=1))
    async with session_of(ScriptedModel(play=lambda _: answer, price=Price(input=1.0, output=1.0))) as session:
        await post(session, chat())
        await post(session, chat(model="tiny-titles"))
        own, side = (exchange.cost_usd for exchange in session.exchanges())
    assert own
    assert side == own


async def test_an_unknown_model_is_an_error() -> None:
    """If the subject's model is not configured either, the error names the requested model."""
    async with running({}) as gateway, gateway.session(a_trial("nobody"), seed=1) as session:
        answer = await post(session, chat(model="nobody"))
        assert answer.status == 404
        assert "'nobody'" in json.loads(answer.body)["error"]["message"]


async def test_a_script_that_fails_is_a_failed_exchange() -> None:
    """An exception in a script is sent to the agent and recorded; the server keeps running."""
    async with playing(lambda _: str(1 / 0)) as session:
        assert (await post(session, chat())).status == 500
        (exchange,) = session.exchanges()
    assert exchange.error
    assert exchange.error.reason == "server"
    assert "ZeroDivisionError" in exchange.error.message


async def test_an_upstream_that_crashes_is_a_failed_exchange() -> None:
    """An exception in the gateway becomes an error of the dialect."""

    class Broken(Endless):
        @asynccontextmanager
        async def answer(self, call: ModelCall) -> AsyncIterator[Reply]:
            raise RuntimeError("no luck")
            yield

    async with session_of(Broken()) as session:
        answer = await post(session, chat())
        assert answer.status == 500
        assert "no luck" in json.loads(answer.body)["error"]["message"]
        assert session.exchanges()[0].error


async def test_it_knows_whether_a_response_is_owed() -> None:
    """The session waits while the model works, not before or after."""
    async with playing(lambda _: Answer(text="Hm.", wait=0.05)) as session:
        before = session.last_activity()
        assert not session.waiting()
        asking = asyncio.ensure_future(post(session, chat()))
        await until(session.waiting)
        assert session.exchanges()[0].response is None
        await asking
        assert not session.waiting()
        assert session.last_activity() > before


async def test_a_disconnecting_agent_cancels_its_upstream() -> None:
    """The exchange is recorded as far as it got."""
    endless = Endless()
    async with session_of(endless) as session, aiohttp.ClientSession() as client:
        headers = {"Authorization": f"Bearer {session.token}"}
        answer = await client.post(f"{session.base_url}/v1/chat/completions", json=chat(stream=True), headers=headers)
        await answer.content.readany()
        answer.close()
        await until(lambda: endless.hung_up)
        await until(lambda: not session.waiting())
        (exchange,) = session.exchanges()
    assert exchange.error is None
    assert exchange.response
    assert exchange.response.stop is StopReason.UNKNOWN


async def test_stopping_ends_open_streams_at_once() -> None:
    """Open streams are cut, the port is released, and no task is left."""
    endless = Endless()
    gateway = GatewayServer({"played": endless})
    await gateway.start()
    async with gateway.session(a_trial(), seed=1) as session:
        asking = asyncio.ensure_future(post(session, chat(stream=True)))
        await until(lambda: endless.listened)
        async with asyncio.timeout(30):  # it would wait for the stream for ever
            await gateway.stop()
    with pytest.raises(aiohttp.ClientError):
        await asking
    assert endless.hung_up
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(gateway.address.rpartition(":")[2])), timeout=60)


async def test_it_listens_on_a_unix_socket(tmp_path: Path) -> None:
    """It listens at the path and nowhere else, and removes the file at the end."""
    path = tmp_path / "gateway.sock"
    async with (
        running({"played": ScriptedModel(play=lambda _: "Hi.")}, unix_path=path) as gateway,
        gateway.session(a_trial(), seed=1) as session,
    ):
        assert path.stat().st_mode & 0o077 == 0
        answer = await post(session, chat(), connector=aiohttp.UnixConnector(path=str(path)))
        assert answer.status == 200
    assert not path.exists()


async def test_an_address_in_use_is_a_clear_error(tmp_path: Path) -> None:
    """The error names the address."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UsageError, match=f"can't listen on 127.0.0.1:{port}: Address already in use"):
            await GatewayServer({}, port=port).start()
    with pytest.raises(UsageError, match="No such file or directory"):
        await GatewayServer({}, unix_path=tmp_path / "no" / "sock").start()


async def test_it_listens_on_a_socket_handed_in() -> None:
    """A listening socket from the caller works too, also in another network namespace."""
    sock = socket.create_server(("127.0.0.1", 0))
    port = sock.getsockname()[1]
    async with (
        running({"played": ScriptedModel(play=lambda _: "Hi.")}, sock=sock) as gateway,
        gateway.session(a_trial(), seed=1) as session,
    ):
        assert session.base_url.startswith(f"http://127.0.0.1:{port}/t/")
        assert (await post(session, chat())).status == 200


async def test_a_session_can_have_its_own_socket() -> None:
    """Only that session is reachable on it, and it stops listening with the session."""
    with socket.create_server(("127.0.0.1", 0)) as own:
        async with (
            running({"played": ScriptedModel(play=lambda _: "Hi.")}) as gateway,
            gateway.session(a_trial(), seed=1) as other,
        ):
            async with gateway.session(a_trial(), seed=1) as session:
                shared = session.base_url
                await session.listen(own)
                assert session.base_url != shared
                assert (await post(session, chat())).status == 200
                other.address = session.address
                assert (await post(other, chat())).status == 401
            with pytest.raises(aiohttp.ClientConnectorError):
                await post(session, chat())


async def test_a_closed_session_is_freed_without_a_garbage_collection() -> None:
    """Closed connections refer to one another: they must not keep what the agent sent until they are collected."""
    gc.collect()
    gc.disable()
    try:
        async with running({"played": ScriptedModel(play=lambda _: "Hi.")}) as gateway:
            with socket.create_server(("127.0.0.1", 0)) as own:
                async with gateway.session(a_trial(), seed=1) as session:
                    await session.listen(own)
                    assert (await post(session, chat())).status == 200
                    kept = weakref.ref(session)
            del session
            await until(lambda: kept() is None)
    finally:
        gc.enable()


async def test_every_upstream_that_was_used_is_closed() -> None:
    """Also if models come from a function."""

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


async def test_requests_of_a_trial_share_equal_parts() -> None:
    """The conversation is in memory once, and is unchanged."""
    turns = [{"role": "user", "content": f"turn {number}"} for number in range(3)]
    async with playing(lambda _: "Hi.") as session:
        for number in range(1, 4):
            await post(session, {"model": "played", "messages": turns[:number]})
        await post(session, {"model": "played", "messages": [turns[0], turns[2]]})
        first, second, third, other = (exchange.request.messages for exchange in session.exchanges())
    assert [message.text for message in third] == ["turn 0", "turn 1", "turn 2"]
    assert [message.text for message in other] == ["turn 0", "turn 2"]
    assert third[0] is second[0] is first[0] is other[0]
    assert third[1] is second[1]


async def test_counters_add_up() -> None:
    """The counters include sessions, exchanges, tokens, cost and errors of all sessions."""
    async with running({"played": ScriptedModel(play=lambda turn: str(1 / len(turn.prompt[1:])))}) as gateway:
        async with gateway.session(a_trial(), seed=1) as session:
            await post(session, chat("many words"))
            await post(session, chat("1"))
            counters = gateway.counters()
            assert (counters.sessions, counters.open, counters.exchanges) == (1, 0, 2)
            assert counters.errors == {"server": 1}
            assert counters.input_tokens > 10
            assert counters.cost_usd == 0.0
        assert gateway.counters().sessions == 0


async def test_a_free_model_costs_zero_and_an_unpriced_one_is_unknown() -> None:
    """A price of zero is a price."""
    free, unpriced = ScriptedModel(play=lambda _: "Hi."), ScriptedModel(play=lambda _: "Hi.", price=None)
    async with running({"free": free, "played": unpriced}) as gateway, gateway.session(a_trial(), seed=1) as session:
        await post(session, chat(model="played"))
        async with gateway.session(a_trial("free"), seed=1) as other:
            await post(other, chat(model="free"))
        assert [one.cost_usd for session in (other, session) for one in session.exchanges()] == [0.0, None]
        assert gateway.counters().unpriced == 1


async def test_another_subjects_model_is_refused() -> None:
    """An agent gets its own model only; others are refused, noted and never called."""
    called: list[str] = []

    def model(name: str) -> ScriptedModel:
        return ScriptedModel(play=lambda _: called.append(name) or name)

    models = {"played": model("played"), "large": model("large")}
    async with (
        running(models, configured=lambda name: name == "unused") as gateway,
        gateway.session(a_trial(), seed=1) as session,
    ):
        for name in ("large", "unused"):
            answer = await post(session, chat(model=name))
            assert answer.status == 403
            told = json.loads(answer.body)["error"]["message"]
            allow = f'allow it with also = ["{name}"] in [agents.native]'
            assert told == f"this session does not serve the model '{name}': {allow}"
            assert session.exchanges()[-1].error.own
            assert session.notes[-1] == (
                f"the agent requested the model '{name}', which is not its own: refused "
                f'(allow it with also = ["{name}"] in [agents.native])'
            )
        assert [one.error.reason for one in session.exchanges() if one.error] == ["bad_request"] * 2
        assert called == []
        assert b"large" not in (await ask("GET", session.base_url + "/v1/models", **bearer(session))).body


async def test_models_listed_as_also_are_served() -> None:
    """`also` in the agent's configuration allows further models."""
    trial = a_trial()
    trial = replace(trial, subject=replace(trial.subject, settings={"also": ["small"]}))
    models = {name: ScriptedModel(play=lambda _, name=name: name) for name in ("played", "small")}
    async with running(models) as gateway, gateway.session(trial, seed=1) as session:
        assert b"small" in (await post(session, chat(model="small"))).body
        assert b"small" in (await ask("GET", session.base_url + "/v1/models", **bearer(session))).body
        assert not [note for note in session.notes if "requested" in note]


async def test_a_request_beyond_the_size_limit_is_refused() -> None:
    """413 in the dialect of the agent, an exchange, and a note; with and without a declared length."""
    async with session_of(ScriptedModel(play=lambda _: "Hi."), limits=GatewayLimits(request=2000)) as session:
        body = json.dumps(chat("x" * 3000)).encode()
        declared = await post(session, body)
        async with aiohttp.ClientSession() as client:
            chunked = await client.post(
                session.base_url + "/v1/chat/completions", headers=bearer(session), data=slow(body)
            )
        assert (declared.status, chunked.status) == (413, 413)
        assert "larger than 2000 bytes" in json.loads(declared.body)["error"]["message"]
        assert session.notes[1:] == ("a request was refused: the request is larger than 2000 bytes (limits.request)",)
        assert [one.error.status for one in session.exchanges() if one.error] == [413, 413]
        assert (await post(session, chat())).status == 200


async def slow(body: bytes) -> AsyncIterator[bytes]:
    """A body in chunks, without a length."""
    for start in range(0, len(body), 1000):
        yield body[start : start + 1000]


def bearer(session: GatewaySession) -> dict[str, str]:
    return {"Authorization": f"Bearer {session.token}"}


async def test_equal_content_is_stored_once() -> None:
    """Requests share equal messages, wherever they are in the conversation, and equal requests are one value."""
    texts = ["a" * 10_000, "b" * 10_000]
    messages = [{"role": "user", "content": text} for text in texts]
    async with playing(lambda _: "Hi.") as session:
        for order in (messages, messages[::-1], messages):
            await post(session, {"model": "played", "messages": order})
        first, second, third = (one.request for one in session.exchanges())
    assert first is third
    assert second.messages[0] is first.messages[1]
    assert second.messages[1] is first.messages[0]


async def test_too_much_different_content_is_refused() -> None:
    """What an agent sends is kept in memory, so the total of a trial is limited too; repeating itself is free."""
    async with session_of(ScriptedModel(play=lambda _: "Hi."), limits=GatewayLimits(request=2000)) as session:
        statuses = [(await post(session, chat("x" * 1500))).status for _ in range(20)]
        assert statuses == [200] * 20
        statuses = [(await post(session, chat(f"{number} " + "x" * 1500))).status for number in range(20)]
        assert statuses[0] == 200
        assert statuses[-1] == 413
        assert "more than 16000 bytes of different content" in session.notes[-1]


async def test_large_requests_of_one_session_do_not_delay_another() -> None:
    """While one agent sends large bodies and never finishes them, another one is answered."""
    model = ScriptedModel(play=lambda _: "Hi.")
    async with (
        running({"played": model}) as gateway,
        gateway.session(a_trial(), seed=1) as busy,
        gateway.session(a_trial(), seed=1) as other,
    ):
        writers = [await unfinished(busy, 2 * 2**20) for _ in range(5)]
        large = await post(other, chat("x" * 3 * 2**20))
        assert large.status == 200
        assert (await post(busy, chat())).status == 200
        for writer in writers:
            writer.close()


async def unfinished(session: GatewaySession, size: int) -> asyncio.StreamWriter:
    """A request that has sent all but one byte of its body."""
    _, writer = await asyncio.open_connection(*session.base_url.split("/")[2].split(":"))
    path = session.base_url.split("/", 3)[3]
    head = f"POST /{path}/v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {size}\r\n"
    writer.write(f"{head}Authorization: Bearer {session.token}\r\n\r\n".encode() + b"x" * (size - 1))
    await writer.drain()
    return writer


async def test_connections_of_a_session_are_limited() -> None:
    """Connections beyond the limit are closed at once and counted; closed ones make room."""
    limits = GatewayLimits(connections=3)
    async with session_of(ScriptedModel(play=lambda _: "Hi."), limits=limits) as session:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            await session.listen(listener)
            address = listener.getsockname()
            streams = [await asyncio.open_connection(*address) for _ in range(3)]
            reader, writer = await asyncio.open_connection(*address)
            assert await asyncio.wait_for(refused(reader), 60)
            writer.close()
            assert session.notes[1:] == ("1 connection was refused: the agent had 3 open at once (limits.connections)",)
            for _, one in streams:
                one.close()
                await one.wait_closed()
            await until_served(session)


async def refused(reader: asyncio.StreamReader) -> bool:
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True


async def until_served(session: GatewaySession) -> None:
    """The server notices closed connections a little later."""
    while True:
        try:
            assert (await post(session, chat())).status == 200
        except aiohttp.ClientError:
            continue
        return


async def test_malformed_http_is_answered_and_counted(capfd: pytest.CaptureFixture[str]) -> None:
    """Rubbish gets a 400, a note with the count, and no traceback."""
    async with playing(lambda _: "Hi.") as session:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            await session.listen(listener)
            for rubbish in (
                b"GET / HTTP/9.9\r\n\r\n",
                b"POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                b"\x16\x03\x01\r\n\r\n",
            ):
                reader, writer = await asyncio.open_connection(*listener.getsockname())
                writer.write(rubbish)
                assert (await reader.read()).startswith(b"HTTP/1.")
                writer.close()
            assert session.notes[1:] == ("3 requests were not valid HTTP",)
    assert capfd.readouterr() == ("", "")


_STARVED = """
import asyncio, resource, socket
from demeanor.gateway.script import scripted
from demeanor.gateway.server.http_server import GatewayServer

async def main():
    server = GatewayServer({"scripted": scripted()})
    await server.start()
    host, port = server.address.removeprefix("http://").split(":")
    used = len(__import__("os").listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 20, used + 20))
    clients = [socket.socket() for _ in range(15)]
    for client in clients:
        client.connect((host, int(port)))
    for _ in range(1000):
        await asyncio.sleep(0)
    report = asyncio.get_running_loop().call_exception_handler
    report({"message": "again", "exception": OSError(24, "again")})
    report({"message": "a listener that was closed", "exception": ValueError("Invalid file descriptor: -1")})
    for client in clients:
        client.close()
    await server.stop()

asyncio.run(main())
"""


def test_running_out_of_descriptors_is_reported_in_one_line() -> None:
    """Connections that can't be accepted print one line, not a traceback each."""
    done = subprocess.run([sys.executable, "-c", _STARVED], capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("demeanor: too many open files: the gateway can't accept connections")
    assert done.returncode == 0
