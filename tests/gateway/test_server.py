"""The server: addresses, tokens, recording, and ending."""

from __future__ import annotations

import asyncio
import json
import socket

import aiohttp
from lab import a_trial, chat, playing, post, running

from holdfast.core.exchange import StopReason
from holdfast.gateway.script import Answer, ScriptedModel, Turn, scripted


async def test_a_request_becomes_an_exchange() -> None:
    """What was asked and answered is recorded in order, with its times."""
    async with playing(lambda turn: f"You said {turn.prompt}") as door:
        await post(door, chat("one"))
        await post(door, chat("two", stream=True))
        first, second = door.exchanges()
    assert (first.number, second.number) == (1, 2)
    assert first.dialect == "openai-chat"
    assert first.request.messages[0].text == "one"
    assert first.response
    assert first.response.text == "You said one"
    assert first.response.stop is StopReason.END
    assert second.response
    assert second.response.text == "You said two"
    assert first.first_byte is not None
    assert 0 <= first.started <= first.first_byte <= first.ended <= second.started
