"""The session of one trial: when the provider is to blame that the agent got no answer."""

from __future__ import annotations

import time

from demeanor.core.values.exchange import Request, Response, StopReason, Usage
from demeanor.core.values.messages import Text, ToolCall
from demeanor.gateway.script import Answer, ScriptedModel, Turn
from tests.gateway.helpers import session_of

ASKED = Request(model="played", messages=())


def silent(turn: Turn) -> Answer:
    """No request reaches the model here."""
    raise AssertionError


async def test_an_agent_that_hangs_up_has_no_provider_to_blame() -> None:
    """It may have asked for a long answer just to hang up, which must not end in a void."""
    async with session_of(ScriptedModel(play=silent)) as session:
        with session.record("openai-chat", ASKED, started=time.monotonic(), body=b"") as recorder:
            recorder.awaiting_provider = True
            recorder.activity = time.monotonic() - 30
        assert [exchange.error for exchange in session.exchanges()] == [None]


async def test_silence_begins_when_the_request_is_sent() -> None:
    """A request that waits for its turn in the gateway says nothing about the provider."""
    async with session_of(ScriptedModel(play=silent)) as session:
        with session.record("openai-chat", ASKED, started=time.monotonic() - 30, body=b"") as recorder:
            recorder.set_queued(True)
            assert not session.waiting()
            recorder.activity = time.monotonic() - 30
            recorder.set_queued(False)
            assert session.waiting()
            assert time.monotonic() - session.last_activity() < 10


async def test_the_last_step_of_a_running_trial_is_its_last_call_or_else_its_last_text() -> None:
    """In a line, as pages about the run show it; an exchange in progress is none yet."""
    call = ToolCall(id="1", name="read_file", arguments={"path": "a\nb"})
    async with session_of(ScriptedModel(play=silent)) as session:
        assert session.last_step() == ""
        for parts in ((Text(text="Let me\nlook."),), (call, Text(text=" ")), None):
            with session.record("openai-chat", ASKED, started=time.monotonic(), body=b"") as recorder:
                if parts is not None:
                    recorder.set_response(Response(model="played", parts=parts, stop=StopReason.END, usage=Usage()))
        assert session.last_step() == 'read_file({"path": "a\\nb"})'
