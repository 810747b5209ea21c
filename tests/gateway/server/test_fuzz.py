"""Mutated requests and mutated answers: no crash, no hang, and always a proper error of the dialect.

The count is small here; `DEMEANOR_FUZZ=50000` makes it a long test.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from demeanor.core.values.exchange import Request, Response, Sampling, StopReason, Usage
from demeanor.core.values.messages import Message, Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.errors import read_error
from demeanor.gateway.dialects.stream_events import deltas_of
from demeanor.gateway.models.live_model import LiveModel
from demeanor.gateway.models.provider import Provider
from demeanor.gateway.script import ScriptedModel
from tests.gateway.helpers import a_tool, a_trial, post, provider, running

COUNT = int(os.environ.get("DEMEANOR_FUZZ", "300"))
CALL = ToolCall(id="call_1", name="read_file", arguments={"path": "a.txt"}, raw='{"path": "a.txt"}')
QUESTION = Request(
    model="played",
    messages=(
        Message(role="system", parts=(Text(text="Be brief."),)),
        Message(role="user", parts=(Text(text="Read a.txt"),)),
        Message(role="assistant", parts=(Thinking(text="Hm.", signature="c2ln"), Text(text="Well."), CALL)),
        Message(role="user", parts=(ToolResult(call_id="call_1", name="read_file", parts=(Text(text="Hi."),)),)),
    ),
    tools=(a_tool("read_file", "path"),),
    sampling=Sampling(max_tokens=500, temperature=0.5),
)
ANSWER = Response(
    parts=(Thinking(text="Hm.", signature="c2ln"), Text(text="Let me see."), CALL, replace(CALL, id="call_2")),
    stop=StopReason.TOOL_USE,
    usage=Usage(input=12, output=7),
)
ODDITIES: tuple[Any, ...] = (None, True, -1, 1e308, "", "\ud800", "\0", [], [[]], {}, {"type": "x"}, [None], "x" * 9999)


def mutated_json(draw: random.Random, value: Any) -> Any:
    """A JSON value with a random change."""
    if isinstance(value, dict) and value and draw.random() < 0.85:
        key = draw.choice(list(value))
        changed = {**value, key: mutated_json(draw, value[key])}
        return {name: item for name, item in changed.items() if name != key or draw.random() < 0.9}
    if isinstance(value, list) and value and draw.random() < 0.85:
        place = draw.randrange(len(value))
        return [*value[:place], mutated_json(draw, value[place]), *value[place + draw.randrange(2) :]]
    return draw.choice(ODDITIES)


def mutated_bytes(draw: random.Random, data: bytes) -> bytes:
    """Bytes of which some are lost, doubled or replaced."""
    for _ in range(draw.randrange(1, 4)):
        start = draw.randrange(len(data) + 1)
        end = min(len(data), start + draw.choice((1, 1, 5, 40, 4000)))
        other = draw.choice((b"", data[start:end] * 2, bytes([draw.randrange(256)]), b"\n\n", b'data: {"x":', b"]}"))
        data = data[:start] + other + data[end:]
    return data


def mutated(draw: random.Random, data: bytes) -> bytes:
    """A JSON body, broken as JSON or only in its content."""
    if draw.random() < 0.3:
        return mutated_bytes(draw, data)
    return json.dumps(mutated_json(draw, json.loads(data))).encode()


@pytest.mark.parametrize("name", DIALECTS)
async def test_mutated_requests_get_proper_responses(name: str) -> None:
    """An agent always gets a response or an error of its dialect, and the exchange is recorded."""
    dialect, draw = DIALECTS[name], random.Random(7)
    async with (
        running({"played": ScriptedModel(play=lambda turn: f"{turn.done} {turn.prompt}"[:99])}) as gateway,
        gateway.session(a_trial(), seed=1) as session,
    ):
        for number in range(COUNT // 4):
            wire = dialect.write_request(replace(QUESTION, stream=bool(number % 2)))
            body = mutated(draw, wire.body)
            reply = await asyncio.wait_for(
                post(session, body, path=wire.path, headers=dialect.key_headers(session.token)), timeout=120
            )
            if reply.status != 200:
                message = read_error(reply.status, reply.body).message
                assert message.startswith(("the request can't be read", "the gateway failed")), (reply.body, body)
        assert len(session.exchanges()) == COUNT // 4


@pytest.mark.parametrize("mine", ["openai-chat", "anthropic"])
@pytest.mark.parametrize("theirs", DIALECTS)
async def test_mutated_responses_do_no_harm(mine: str, theirs: str) -> None:
    """Whatever a provider sends, the agent is not kept waiting, and the exchange is recorded."""
    ours, foreign, draw = DIALECTS[mine], DIALECTS[theirs], random.Random(7)

    async def answers(request: web.BaseRequest) -> web.StreamResponse:
        route = foreign.route(request.method, request.path, request.query)
        assert route
        operation = foreign.read_request(await request.read(), route)
        if not operation.stream:
            return web.Response(body=mutated(draw, foreign.write_response(ANSWER, operation).body))
        writer = foreign.stream_writer(operation)
        written = b"".join(writer.write(delta) for delta in deltas_of(ANSWER)) + writer.close()
        return web.Response(body=mutated_bytes(draw, written), headers={"Content-Type": writer.content_type})

    async with provider(answers) as (url, _):
        acme = LiveModel(provider=Provider("acme", base_url=url, dialects=[foreign], key="k"), model="played")
        async with running({"played": acme}) as gateway, gateway.session(a_trial(), seed=1) as session:
            for number in range(COUNT // 8):
                wire = ours.write_request(replace(QUESTION, stream=bool(number % 2)))
                asking = post(session, wire.body, path=wire.path, headers=ours.key_headers(session.token))
                try:
                    await asyncio.wait_for(asking, timeout=120)
                except aiohttp.ClientError:
                    assert session.exchanges()[-1].error
            found = session.exchanges()
    assert len(found) == COUNT // 8
    assert all(exchange.response or exchange.error for exchange in found)
