"""Asking the user of a trial through the gateway: only with the session's token, only if there is a user."""

from __future__ import annotations

import asyncio
import io
from pathlib import Path

import aiohttp
import pytest

from demeanor.core.checks import FileExists
from demeanor.core.eval import Eval, Source
from demeanor.core.policy import Policy
from demeanor.core.scenario import Scenario
from demeanor.core.subject import Subject
from demeanor.core.trial import Trial
from demeanor.core.user_channel import PATH, UserChannel
from demeanor.gateway.server.http_server import GatewayServer


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
