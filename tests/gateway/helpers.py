"""Helpers for the tests of the gateway: trials, gateways, providers and requests."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Text, Tool, ToolResult
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial
from demeanor.gateway.script import Script, ScriptedModel, Turn
from demeanor.gateway.server.http_server import GatewayServer
from demeanor.gateway.server.session import Session


def a_trial(model: str = "played", *, name: str = "saves_the_note", number: int = 1) -> Trial:
    """A trial of an eval with this name."""
    situation, source = Scenario(prompts=("Hi.",)), Source(path=Path("eval_notes.py"))
    found = Eval(name=name, policy=Policy.USUALLY_PASSES, scenario=situation, checks=(), source=source)
    return Trial(eval=found, subject=Subject(agent="native", model=model), number=number, timeout=60.0)


@asynccontextmanager
async def running(models: Any, **settings: Any) -> AsyncIterator[GatewayServer]:
    """A running gateway."""
    gateway = GatewayServer(models, **settings)
    await gateway.start()
    try:
        yield gateway
    finally:
        await gateway.stop()


@asynccontextmanager
async def session_of(upstream: Any, **settings: Any) -> AsyncIterator[Session]:
    """A session of a gateway whose model `played` is this upstream."""
    async with running({"played": upstream}, **settings) as gateway, gateway.session(a_trial(), seed=1) as session:
        yield session


@asynccontextmanager
async def playing(play: Script) -> AsyncIterator[Session]:
    """A session of a gateway whose model `played` runs a script."""
    async with session_of(ScriptedModel(play=play)) as session:
        yield session


def chat(prompt: str = "Hi.", *, model: str = "played", **more: Any) -> dict[str, Any]:
    """A request of the chat API."""
    return {"model": model, "messages": [{"role": "user", "content": prompt}], **more}


@dataclass(frozen=True)
class HttpReply:
    """An HTTP response."""

    status: int
    body: bytes
    headers: Any


async def post(
    session: Session,
    body: Any,
    *,
    path: str = "/v1/chat/completions",
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    connector: aiohttp.BaseConnector | None = None,
) -> HttpReply:
    """Send a request to a session as an agent would."""
    head = headers or {"Authorization": f"Bearer {session.token if token is None else token}"}
    sent = io.BytesIO(body if isinstance(body, bytes) else json.dumps(body).encode())
    async with (
        aiohttp.ClientSession(connector=connector) as client,
        client.post(session.base_url + path, headers=head, data=sent) as answer,
    ):
        return HttpReply(answer.status, await answer.read(), answer.headers)


async def ask(method: str, url: str, **headers: str) -> HttpReply:
    """Send any other request."""
    async with aiohttp.ClientSession() as client, client.request(method, url, headers=headers) as answer:
        return HttpReply(answer.status, await answer.read(), answer.headers)


@dataclass
class ReceivedRequests:
    """The requests that a provider received."""

    requests: list[web.BaseRequest] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)


@asynccontextmanager
async def provider(
    handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
) -> AsyncIterator[tuple[str, ReceivedRequests]]:
    """A provider on this machine that answers with `handle` and records its requests."""
    received = ReceivedRequests()

    async def record(request: web.BaseRequest) -> web.StreamResponse:
        received.requests.append(request)
        received.bodies.append(await request.read())
        return await handle(request)

    def large_request(*head: Any) -> web.BaseRequest:
        return web.BaseRequest(*head, asyncio.get_running_loop(), client_max_size=2**26)

    server = web.Server(record, request_factory=large_request, handler_cancellation=True)
    runner = web.ServerRunner(server, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        host, port = runner.addresses[0]
        yield f"http://{host}:{port}", received
    finally:
        await runner.cleanup()


@asynccontextmanager
async def raw_provider(*pieces: bytes, then_wait: bool = False) -> AsyncIterator[str]:
    """A provider that sends these bytes for any request, and then closes the connection or waits forever."""
    forever = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        if then_wait:
            await forever.wait()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        forever.set()
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0)


def a_tool(name: str, *required: str, **properties: Any) -> Tool:
    """A tool; its properties are strings by default."""
    shapes = {name: {"type": "string"} for name in required} | properties
    return Tool(name=name, schema={"type": "object", "properties": shapes, "required": list(required)})


NATIVE = (
    a_tool("read_file", "path"),
    a_tool("write_file", "path", "content"),
    a_tool("edit_file", "path", "old", "new"),
    a_tool("list_files", path={"type": "string"}),
    a_tool("shell", "command"),
)
"""Tools as a small agent offers them."""


def a_turn(prompt: str, *results: str, tools: tuple[Tool, ...] = NATIVE, seed: int = 1) -> Turn:
    """A turn with this prompt and the tool results since."""
    prompt_message = Message(role="user", parts=(Text(text=prompt),))
    given = [
        Message(role="user", parts=(ToolResult(call_id=f"call_{number}", parts=(Text(text=text),)),))
        for number, text in enumerate(results, 1)
    ]
    return Turn(Request(model="played", messages=(prompt_message, *given), tools=tools), seed=seed)
