"""Provider faults: the gateway decides from what it received, whatever the agent does meanwhile."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest
from aiohttp import web

from demeanor.core.values.exchange import Exchange, Request, StopReason
from demeanor.core.values.messages import Message, Text
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.models.live_model import LiveModel
from demeanor.gateway.models.provider import Provider
from demeanor.gateway.models.upstream import ModelCall, PassthroughReply
from demeanor.gateway.server.http_server import GatewayServer
from demeanor.gateway.server.session import Session
from tests.gateway.helpers import a_trial, chat, provider, raw_provider, running, session_of

HTML = b"<!doctype html><html><body>Please sign in to the proxy.</body></html>"
QUESTION = Request(model="played", messages=(Message(role="user", parts=(Text(text="Hi."),)),))


def http(body: bytes, content_type: str) -> bytes:
    """A response with status 200."""
    return (
        b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (content_type.encode(), len(body)) + body
    )


def chunk(*, finish: str | None = None, **delta: object) -> bytes:
    """An event of a chat stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    data = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: %s\n\n" % json.dumps(data).encode()


async def hangs_up(gateway: GatewayServer, session: Session, name: str, *, stream: bool, after: bytes) -> Exchange:
    """Send a request, close the connection once the response contains `after`, and return the finished exchange."""
    dialect = DIALECTS[name]
    wire = dialect.write_request(Request(model="played", messages=QUESTION.messages, stream=stream))
    head = {**dialect.key_headers(session.token), "Content-Length": str(len(wire.body)), "Host": "gateway"}
    path = session.base_url.removeprefix(gateway.address) + wire.path
    lines = [f"POST {path} HTTP/1.1", *(f"{key}: {value}" for key, value in head.items()), "", ""]
    reader, writer = await asyncio.open_connection("127.0.0.1", int(gateway.address.rpartition(":")[2]))
    writer.write("\r\n".join(lines).encode() + wire.body)
    await reader.readuntil(after)
    writer.close()
    while gateway.counters().open:
        await asyncio.sleep(0.001)
    (exchange,) = session.exchanges()
    return exchange


async def answered(
    name: str, *pieces: bytes, stream: bool, after: bytes = b"\r\n\r\n", then_wait: bool = False
) -> Exchange:
    """The exchange with a provider of the same dialect that sends these bytes, for an agent that hangs up early."""
    async with raw_provider(*pieces, then_wait=then_wait) as url:
        model = LiveModel(provider=Provider("acme", base_url=url, dialects=[DIALECTS[name]]), model="played")
        async with running({"played": model}) as gateway, gateway.session(a_trial(), seed=1) as session:
            return await hangs_up(gateway, session, name, stream=stream, after=after)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "application/json", "text/plain", ""])
async def test_html_instead_of_a_response_is_the_providers_fault(name: str, stream: bool, content_type: str) -> None:
    """Also if the agent hangs up as soon as it sees the headers, whatever they say."""
    exchange = await answered(name, http(HTML, content_type), stream=stream)
    assert exchange.error
    assert (exchange.error.reason, exchange.error.status) == ("server", 200)


@pytest.mark.parametrize("name", DIALECTS)
async def test_html_in_an_event_stream_is_the_providers_fault(name: str) -> None:
    """The headers promise events."""
    exchange = await answered(name, http(HTML, "text/event-stream"), stream=True, after=b"</html>")
    assert exchange.error


WHOLE = {
    "openai-chat": {"id": "c", "choices": [{"message": {"content": "Hello."}, "finish_reason": "stop"}]},
    "openai-responses": {
        "id": "r",
        "status": "completed",
        "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]}],
    },
    "anthropic": {"id": "m", "content": [{"type": "text", "text": "Hello."}], "stop_reason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "Hello."}]}, "finishReason": "STOP"}]},
}


@pytest.mark.parametrize("name", DIALECTS)
async def test_a_provider_that_does_not_stream_is_at_fault(name: str) -> None:
    """Clients that asked for a stream find no event in a JSON body. The response is recorded all the same."""
    body = json.dumps(WHOLE[name]).encode()
    exchange = await answered(name, http(body, "application/json"), stream=True)
    assert exchange.error
    assert exchange.error.message == "the request asks for a stream, but the provider sent a single JSON body"
    assert exchange.response
    assert exchange.response.text == "Hello."


@pytest.mark.parametrize("name", DIALECTS)
async def test_a_response_is_recorded_before_the_agent_gets_it(name: str) -> None:
    """An agent that hangs up after the last byte, or earlier, does not change what is recorded."""
    exchange = await answered(name, http(json.dumps(WHOLE[name]).encode(), "application/json"), stream=False)
    assert exchange.error is None
    assert exchange.response
    assert (exchange.response.text, exchange.response.stop) == ("Hello.", StopReason.END)


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("openai-chat", {"code": 429}, "rate_limit"),
        ("openai-responses", {"code": "rate_limit_exceeded"}, "rate_limit"),
        ("anthropic", {"type": "overloaded_error"}, "overloaded"),
        ("gemini", {"code": 503}, "overloaded"),
        ("openai-chat", {"code": "unheard_of"}, "server"),
    ],
)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_an_error_with_status_200_is_an_error(
    name: str, code: dict[str, object], reason: str, stream: bool
) -> None:
    """Some providers report errors in the body only."""
    body = json.dumps({"type": "error", "error": {"message": "not now", **code}}).encode()
    exchange = await answered(name, http(body, "application/json"), stream=stream)
    assert exchange.error
    assert (exchange.error.reason, exchange.error.message) == (reason, "not now")


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ({"finish_reason": "insufficient_system_resource"}, "server"),
        ({"finish_reason": "error", "error": {"code": 429, "message": "slow down"}}, "rate_limit"),
    ],
    ids=["deepseek", "openrouter"],
)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
async def test_a_choice_that_ends_with_a_fault_is_the_providers_fault(
    end: dict[str, object], reason: str, stream: bool
) -> None:
    """The provider broke off after some text, and says so only in the choice."""
    text = {"delta" if stream else "message": {"role": "assistant", "content": "Hello."}}
    body = json.dumps({"id": "c1", "choices": [{"index": 0, **text, **end}]}).encode()
    sent = (
        http(b"data: %s\n\ndata: [DONE]\n\n" % body, "text/event-stream") if stream else http(body, "application/json")
    )
    exchange = await answered("openai-chat", sent, stream=stream)
    assert exchange.error
    assert exchange.error.reason == reason
    assert exchange.response
    assert exchange.response.text == "Hello."


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
HELLO = chunk(role="assistant", content="Hello.")
MESSAGE_START = (
    b'event: message_start\ndata: {"type": "message_start", "message": {"id": "m", "content": [], "usage": {}}}\n\n'
)


@pytest.mark.parametrize(
    ("name", "stream", "after"),
    [
        ("openai-chat", HELLO + b"data: [DONE]\n\n", b"[DONE]\n\n"),
        ("anthropic", MESSAGE_START + b'data: {"type": "message_stop"}\n\n', b'message_stop"}\n\n'),
    ],
    ids=["chat", "anthropic"],
)
async def test_a_stream_without_a_stop_reason_is_incomplete(name: str, stream: bytes, after: bytes) -> None:
    """Its end event alone does not make it complete; the agent hangs up as soon as it has seen it."""
    exchange = await answered(name, HEAD, stream, stream=True, after=after, then_wait=True)
    assert exchange.error
    assert exchange.error.reason == "cut"
    assert "without a" in exchange.error.message


async def test_a_malformed_event_is_noted_before_the_agent_hangs_up() -> None:
    """The agent's client stops at the first event that it can't parse."""
    exchange = await answered(
        "openai-chat", HEAD, HELLO + b'data: {"id": \n\n', stream=True, after=b'"id": \n\n', then_wait=True
    )
    assert exchange.error
    assert exchange.error.reason == "server"


async def test_an_agent_that_hangs_up_after_the_stop_reason_has_the_whole_response() -> None:
    """It need not wait for the usage or for [DONE]."""
    last = chunk(finish="stop")
    exchange = await answered("openai-chat", HEAD, HELLO + last, stream=True, after=last, then_wait=True)
    assert exchange.error is None
    assert exchange.response
    assert (exchange.response.text, exchange.response.stop) == ("Hello.", StopReason.END)


async def test_an_agent_that_hangs_up_in_the_middle_is_not_the_providers_fault() -> None:
    """The part that arrived is recorded."""
    exchange = await answered("openai-chat", HEAD, HELLO, stream=True, after=b"Hello.", then_wait=True)
    assert exchange.error is None
    assert exchange.response
    assert exchange.response.text == "Hello."


@pytest.mark.parametrize("content_type", ["text/plain", "application/octet-stream", ""])
async def test_events_count_whatever_their_content_type(content_type: str) -> None:
    """Some proxies drop it. Agents that ignore the type get a normal response."""
    body = HELLO + chunk(finish="stop") + b"data: [DONE]\n\n"
    exchange = await answered("openai-chat", http(body, content_type), stream=True, after=b"[DONE]\n\n")
    assert exchange.error is None
    assert exchange.response
    assert (exchange.response.text, exchange.response.stop) == ("Hello.", StopReason.END)


async def test_the_agent_gets_nothing_before_the_response_is_complete() -> None:
    """Otherwise it could hang up at the first half of a body that the gateway has not read yet."""
    body, go_on = json.dumps(WHOLE["openai-chat"]).encode(), asyncio.Event()

    async def halves(request: web.BaseRequest) -> web.StreamResponse:
        answer = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(body))})
        await answer.prepare(request)
        await answer.write(body[:40])
        await go_on.wait()
        await answer.write(body[40:])
        return answer

    async with provider(halves) as (url, _):
        model = LiveModel(provider=Provider("acme", base_url=url, dialects=[DIALECTS["openai-chat"]]), model="played")
        async with session_of(model) as session, aiohttp.ClientSession() as client:
            head = {"Authorization": f"Bearer {session.token}"}
            asking = asyncio.ensure_future(
                client.post(f"{session.base_url}/v1/chat/completions", json=chat(stream=True), headers=head)
            )
            while not session.exchanges() or session.exchanges()[0].first_byte is None:
                await asyncio.sleep(0.001)
            done, _ = await asyncio.wait([asking], timeout=0.2)
            assert not done
            go_on.set()
            assert await (await asking).read() == body


@dataclass(kw_only=True)
class Pieces:
    """An upstream whose pieces are made by a function, which sees what the agent has received of the earlier ones."""

    make: Callable[[socket.socket, Session], Iterator[bytes]]
    price: None = None
    notes: tuple[str, ...] = ()
    agent: socket.socket = field(default_factory=lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM))
    headers_seen: asyncio.Event = field(default_factory=asyncio.Event)
    session: Session | None = None

    @asynccontextmanager
    async def answer(self, call: ModelCall) -> AsyncIterator[PassthroughReply]:
        async def chunks() -> AsyncIterator[bytes]:
            await self.headers_seen.wait()
            assert self.session
            for piece in self.make(self.agent, self.session):
                yield piece

        yield PassthroughReply(status=200, headers={"Content-Type": "text/event-stream"}, chunks=chunks())

    async def close(self) -> None:
        """Nothing is open."""


async def exchange_with(make: Callable[[socket.socket, Session], Iterator[bytes]]) -> Exchange:
    """The exchange of an agent that asks for a stream of chat completions and reads nothing but the headers itself."""
    upstream = Pieces(make=make)
    async with running({"played": upstream}) as gateway, gateway.session(a_trial(), seed=1) as session:
        upstream.session = session
        dialect, loop = DIALECTS["openai-chat"], asyncio.get_running_loop()
        wire = dialect.write_request(Request(model="played", messages=QUESTION.messages, stream=True))
        head = {**dialect.key_headers(session.token), "Content-Length": str(len(wire.body)), "Host": "gateway"}
        path = session.base_url.removeprefix(gateway.address) + wire.path
        lines = [f"POST {path} HTTP/1.1", *(f"{key}: {value}" for key, value in head.items()), "", ""]
        with upstream.agent as agent:
            agent.setblocking(False)
            await loop.sock_connect(agent, ("127.0.0.1", int(gateway.address.rpartition(":")[2])))
            await loop.sock_sendall(agent, "\r\n".join(lines).encode() + wire.body)
            received = b""
            while b"\r\n\r\n" not in received:
                received += await loop.sock_recv(agent, 1000)
            upstream.headers_seen.set()
            while gateway.counters().open:
                await asyncio.sleep(0.001)
        (exchange,) = session.exchanges()
        return exchange


async def test_an_event_is_sent_and_read_before_anything_else_happens() -> None:
    """The agent has it, and a client in the sandbox that asks for the requested calls is told of it."""
    seen: list[tuple[bool, str]] = []

    def events(agent: socket.socket, session: Session) -> Iterator[bytes]:
        yield HELLO
        (exchange,) = session.exchanges()
        seen.append((b"Hello." in agent.recv(10_000), exchange.response.text if exchange.response else ""))
        yield chunk(finish="stop") + b"data: [DONE]\n\n"

    assert (await exchange_with(events)).error is None
    assert seen == [(True, "Hello.")]


async def test_what_the_agent_did_not_take_is_recorded() -> None:
    """It resets the connection; the first event still goes to the system, the second one is refused."""

    def events(agent: socket.socket, session: Session) -> Iterator[bytes]:
        agent.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        agent.close()
        yield chunk(role="assistant", content="One")
        yield chunk(content=" and two.")

    exchange = await exchange_with(events)
    assert exchange.response
    assert exchange.response.text == "One and two."


async def test_a_body_that_is_no_stream_is_held_back_whatever_its_content_type() -> None:
    """The headers promise events, and are sent at once."""
    body, sent = json.dumps(WHOLE["openai-chat"]).encode(), list[bytes]()

    def halves(agent: socket.socket, session: Session) -> Iterator[bytes]:
        yield body[:40]
        with pytest.raises(BlockingIOError):
            sent.append(agent.recv(10_000))
        yield body[40:]

    exchange = await exchange_with(halves)
    assert exchange.error
    assert (exchange.error.message[:34], sent) == ("the request asks for a stream, but", [])
