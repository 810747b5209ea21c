"""The session of one trial: when the provider is to blame that the agent got no answer."""

from __future__ import annotations

import time
from contextlib import ExitStack

from demeanor.core.values.exchange import Request
from demeanor.gateway.script import Answer, ScriptedModel, Turn
from demeanor.gateway.server.session import Session
from tests.gateway.helpers import session_of

ASKED = Request(model="played", messages=())


def silent(turn: Turn) -> Answer:
    """No request reaches the model here."""
    raise AssertionError


def given_up(session: Session, *, requests: int, seconds: float) -> list[str | None]:
    """Why the exchanges failed of an agent that gave up some requests at once, after it had waited for seconds."""
    with ExitStack() as stack:
        for _ in range(requests):
            recorder = stack.enter_context(session.record("openai-chat", ASKED, started=time.monotonic(), body=b""))
            recorder.awaiting_provider = True
            recorder.activity = time.monotonic() - seconds
    return [one.error and one.error.reason for one in session.exchanges()]


async def test_waits_at_the_same_time_count_once() -> None:
    """An agent can't make a stalled provider, and thus a void, out of many requests that it gives up after a moment."""
    async with session_of(ScriptedModel(play=silent)) as session:
        assert given_up(session, requests=20, seconds=6) == [None] * 20


async def test_a_long_wait_is_a_stall_and_short_waits_add_up() -> None:
    """The provider of a trial of 60 s stalled if it sent nothing for 10 s, in one wait or in several."""
    async with session_of(ScriptedModel(play=silent)) as session:
        assert given_up(session, requests=1, seconds=11) == ["stalled"]
    async with session_of(ScriptedModel(play=silent)) as session:
        assert given_up(session, requests=1, seconds=6) == [None]
        session._silent_until -= 6  # as if the first wait had ended then
        assert given_up(session, requests=1, seconds=6) == [None, "stalled"]
