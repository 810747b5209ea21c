"""The calls that the model requested, as a client in the sandbox asks for them."""

from __future__ import annotations

from typing import Any

import aiohttp

from demeanor.core.messages import ToolCall
from demeanor.gateway.script.turn import ScriptOutput, Turn
from demeanor.gateway.server.session import Session
from tests.gateway.helpers import chat, playing, post

LARGE = "x" * 30_000


def play(turn: Turn) -> ScriptOutput:
    """Request the tool that the prompt names."""
    if turn.prompt == "none":
        return "Done."
    content = LARGE if turn.prompt == "large" else "x"
    return ToolCall(id=f"id-{turn.prompt}", name=turn.prompt, arguments={"content": content}, raw=f'"{content}"')


async def calls(session: Session, token: str | None = None) -> tuple[int, Any]:
    """The status and the body of the answer."""
    headers = {"Authorization": f"Bearer {session.token if token is None else token}"}
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{session.base_url}/demeanor/calls", headers=headers) as found,
    ):
        return found.status, await found.json()


async def test_the_newest_calls_come_first() -> None:
    """With ids and arguments; arguments that are very large are left out. It is not an exchange."""
    async with playing(play) as session:
        for prompt in ("first", "large", "none"):
            await post(session, chat(prompt))
        await post(session, chat("streamed", stream=True))
        status, body = await calls(session)
        assert len(session.exchanges()) == 4
    small = {"content": "x"}
    assert status == 200
    assert [(call["tool"], call["arguments"]) for call in body["calls"]] == [
        ("streamed", small), ("large", None), ("first", small),
    ]  # fmt: skip
    assert len({call["id"] for call in body["calls"]} - {""}) == 3


async def test_the_token_of_the_session_is_needed() -> None:
    """Another one tells nothing."""
    async with playing(play) as session:
        await post(session, chat("first"))
        for token in ("", "guessed"):
            status, body = await calls(session, token)
            assert (status, "calls" in body) == (401, False)
