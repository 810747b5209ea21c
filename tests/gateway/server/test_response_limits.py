"""Limits on what a provider answers and an agent asks: whatever they send, the memory of the gateway is bounded."""

from __future__ import annotations

import json

import aiohttp
import pytest
from aiohttp import web

from demeanor.core.values.canary import SENT
from demeanor.core.values.gateway_limits import GatewayLimits
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.models.live_model import LiveModel
from demeanor.gateway.models.provider import Provider
from demeanor.gateway.script import ScriptedModel
from tests.gateway.helpers import chat, post, provider, session_of

LIMIT = 100_000
_PIECE = b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": "more " * 100}}]}).encode() + b"\n\n"


@pytest.mark.parametrize("endless", [_PIECE, b"x" * 500, b" \n" * 250, b": comment\n\n", b"data: x\n", b"data: "])
@pytest.mark.parametrize(("dialect", "stream"), [("openai-chat", True), ("openai-chat", False), ("anthropic", True)])
async def test_an_endless_response_is_cut_off(endless: bytes, dialect: str, stream: bool) -> None:
    """In the agent's dialect or in another one, with content or without. The provider is to blame."""

    async def answers(request: web.BaseRequest) -> web.StreamResponse:
        reply = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await reply.prepare(request)
        while True:
            await reply.write(endless * (20_000 // len(endless)))

    async with provider(answers) as (url, received):
        acme = Provider("acme", base_url=url, dialects=[DIALECTS[dialect]], key="k")
        limits = GatewayLimits(response=LIMIT)
        async with session_of(LiveModel(provider=acme, model="played"), limits=limits) as session:
            for _ in range(12):
                try:
                    await post(session, chat(stream=stream))
                except aiohttp.ClientPayloadError:
                    continue  # cut off after it had begun
            exchanges, notes = session.exchanges(), session.notes
    errors = [exchange.error for exchange in exchanges]
    assert [error and (error.reason, error.own) for error in errors] == [("server", False)] * 12
    assert (
        f"a response was cut off: the provider sent more than {LIMIT} bytes in one response (limits.response)" in notes
    )
    assert 3 <= len(received.bodies) <= 8
    assert "more than 800000 bytes" in (errors[-1].message if errors[-1] else "")
    assert all(len(exchange.response.text) <= LIMIT for exchange in exchanges if exchange.response)


async def test_an_agent_can_not_fill_the_memory_with_small_requests_and_notes() -> None:
    """The request that is too many is the last that is recorded, and the agent is to blame for it."""
    limits = GatewayLimits(requests=3, notes=2)
    async with session_of(ScriptedModel(play=lambda _: "Hi."), limits=limits) as session:
        statuses = [(await post(session, chat(model=f"m{number}" + "x" * 2000))).status for number in range(6)]
        exchanges, notes = session.exchanges(), session.notes
        session.note(f"{SENT}the headers of a request")
        assert len(session.notes) == 3  # a leak is noted in any case
    assert statuses == [200, 200, 200, 403, 403, 403]
    assert [exchange.error and exchange.error.own for exchange in exchanges] == [None, None, None, True]
    assert [len(note) <= 1000 for note in notes] == [True, True]
