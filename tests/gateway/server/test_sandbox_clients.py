"""Clients in the sandbox that ask for the user of their trial, or for the calls that the model requested."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import aiohttp
import pytest

from demeanor.core.values.checks import FileExists
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.gateway_limits import GatewayLimits
from demeanor.core.values.messages import ToolCall
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Trial
from demeanor.core.values.user_channel import PATH, UserChannel
from demeanor.gateway.script.turn import ScriptOutput, Turn
from demeanor.gateway.server.http_server import GatewayServer
from demeanor.gateway.server.session import Session
from tests.gateway.helpers import chat, playing, post


class Echo:
    """A user who repeats what it hears."""

    async def reply(self, said: str) -> str | None:
        return f"you said {said}" if said else None

    async def answer(self, question: str, options: tuple[str, ...]) -> str | None:
        return f"{question} {', '.join(options)}"


def trial() -> Trial:
    one = Eval(
        name="one",
        policy=Policy.USUALLY_PASSES,
        scenario=Scenario(prompts=("p",)),
        checks=(FileExists(path="a"),),
        source=Source(path=Path("eval_one.py")),
    )
    return Trial(eval=one, subject=Subject(agent="a", model="m"), number=1, timeout=10)


async def test_a_program_hears_the_reply_and_the_answer() -> None:
    server = GatewayServer({})
    await server.start()
    try:
        async with server.session(trial(), seed=1) as session:
            session.set_user(Echo())
            channel = UserChannel(session.base_url, session.token)
            assert await asyncio.to_thread(channel.reply, "hä \ud800") == "you said hä ?"
            assert await asyncio.to_thread(channel.reply, "") is None
            assert await asyncio.to_thread(channel.answer, "which?", ["a", "b"]) == "which? a, b"
    finally:
        await server.stop()


@pytest.mark.parametrize(
    ("token", "user", "body", "status"),
    [
        ("wrong", True, b"{}", 401),
        ("", False, b"{}", 404),
        ("", True, b"[1]", 400),
        ("", True, b"{", 400),
        ("", True, b"x" * (5 * 2**20), 400),
    ],
)
async def test_other_requests_are_refused(token: str, user: bool, body: bytes, status: int) -> None:
    server = GatewayServer({})
    await server.start()
    try:
        async with server.session(trial(), seed=1) as session, aiohttp.ClientSession() as client:
            if user:
                session.set_user(Echo())
            headers = {"Authorization": f"Bearer {token or session.token}"}
            async with client.post(session.base_url + PATH, data=io.BytesIO(body), headers=headers) as answer:
                assert answer.status == status
    finally:
        await server.stop()


async def test_a_user_can_not_be_asked_without_end() -> None:
    """All that it is asked is kept until the trial ends."""
    server = GatewayServer({}, limits=GatewayLimits(asked=100))
    await server.start()
    try:
        async with server.session(trial(), seed=1) as session:
            session.set_user(Echo())
            channel = UserChannel(session.base_url, session.token)
            assert await asyncio.to_thread(channel.reply, "x" * 50) is not None
            with pytest.raises(HTTPError, match="400"):
                await asyncio.to_thread(channel.reply, "x" * 50)
    finally:
        await server.stop()


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
