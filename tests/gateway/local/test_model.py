"""The light model, for real: constrained to the tools on offer, counted, free, and open to every dialect."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.errors import UsageError
from demeanor.core.exchange import Request, Sampling, StopReason
from demeanor.core.messages import Message, Text, Tool, ToolCall
from demeanor.gateway.local.grammar import read_answer
from demeanor.gateway.local.llama_process import LlamaProcess, Room
from demeanor.gateway.local.model import LocalModel, asked, local_model
from demeanor.gateway.local.weights import SMOLLM2
from demeanor.gateway.models.prices import FREE
from demeanor.gateway.server.session import Session
from tests.gateway.lab import NATIVE, a_tool, chat, post, session_of
from tests.gateway.local_lab import light_model

ROOM = Room(threads=1, slots=2, context=1024)
READ = a_tool("read_file", "path").schema
DIALECTS: dict[str, tuple[str, dict[str, Any]]] = {
    "openai-chat": (
        "/v1/chat/completions",
        chat(
            "Read a.txt.",
            max_tokens=60,
            tool_choice="required",
            tools=[{"type": "function", "function": {"name": "read_file", "parameters": READ}}],
        ),
    ),
    "openai-responses": (
        "/v1/responses",
        {
            "model": "played", "input": "Read a.txt.", "max_output_tokens": 60, "tool_choice": "required",
            "tools": [{"type": "function", "name": "read_file", "parameters": READ}],
        },
    ),
    "anthropic": (
        "/v1/messages",
        {
            "model": "played", "max_tokens": 60, "messages": [{"role": "user", "content": "Read a.txt."}],
            "tools": [{"name": "read_file", "input_schema": READ}], "tool_choice": {"type": "any"},
        },
    ),
    "gemini": (
        "/v1beta/models/played:generateContent",
        {
            "contents": [{"role": "user", "parts": [{"text": "Read a.txt."}]}],
            "generationConfig": {"maxOutputTokens": 60},
            "tools": [{"functionDeclarations": [{"name": "read_file", "parameters": READ}]}],
            "toolConfig": {"functionCallingConfig": {"mode": "ANY"}},
        },
    ),
}  # fmt: skip


@asynccontextmanager
async def thinking() -> AsyncIterator[Session]:
    """A session whose model is the light one."""
    async with session_of(LocalModel(SMOLLM2, LlamaProcess(light_model(), room=ROOM))) as door:
        yield door


def the_answer(door: Session) -> Any:
    """The last answer that was recorded."""
    last = door.exchanges()[-1]
    assert last.error is None, last.error
    assert last.response
    return last.response


async def test_every_dialect_gets_a_call_of_an_offered_tool() -> None:
    """Whatever it thinks, it acts with what it was given; its tokens are counted and cost nothing."""
    async with thinking() as door:
        for dialect, (path, body) in DIALECTS.items():
            reply = await post(door, body, path=path)
            assert reply.status == 200, reply.body
            answer = the_answer(door)
            (call,) = answer.calls
            assert (door.exchanges()[-1].dialect, call.name) == (dialect, "read_file")
            assert call.malformed or set(call.arguments) == {"path"}
            assert answer.usage.input > 20
            assert 0 < answer.usage.output <= 60
            assert door.exchanges()[-1].cost_usd == 0.0
        assert any("local model smollm2-135m" in note for note in door.notes)


async def test_hot_heads_are_held_to_the_tools_too() -> None:
    """At a temperature at which it babbles, with schemas of all kinds, every answer is an action or a last word."""
    tools = [
        Tool(name='odd "name"', schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        Tool(name="nested", schema={"type": "object", "properties": {"list": {"type": "array", "items": READ}}}),
        Tool(name="choice", schema={"properties": {"how": {"enum": ["fast", "slow", 3]}}, "required": ["how"]}),
        Tool(name="knot", schema={"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
        Tool(name="bare"),
    ]
    engine = LlamaProcess(light_model(), room=ROOM)
    try:
        for number, offered in enumerate([tools, *([tool] for tool in tools), NATIVE]):
            request = Request(
                model="m",
                messages=(Message(role="user", parts=(Text(text="Do something."),)),),
                tools=tuple(offered),
                tool_choice="required",
                sampling=Sampling(temperature=2.0, max_tokens=40),
            )
            said = await engine.chat(asked(request, seed=number))
            choice = said["choices"][0]
            cut = choice["finish_reason"] == "length"
            part, _ = read_answer(choice["message"]["content"], request, number=1, cut=cut)
            assert isinstance(part, ToolCall), choice
            assert part.name in {tool.name for tool in offered}
            assert cut or not part.malformed
    finally:
        engine.stop()


async def test_an_answer_that_is_cut_off_is_an_invalid_action_and_no_crash() -> None:
    """Eight tokens are not enough for any call."""
    path, body = DIALECTS["openai-chat"]
    async with thinking() as door:
        assert (await post(door, {**body, "max_tokens": 8}, path=path)).status == 200
        answer = the_answer(door)
        assert answer.stop is StopReason.LENGTH
        assert all(call.malformed for call in answer.calls)


async def test_without_tools_it_just_talks_and_streams_too() -> None:
    """A plain question gets plain words."""
    async with thinking() as door:
        reply = await post(door, chat("Say hello.", max_tokens=12, stream=True))
        assert reply.status == 200
        assert the_answer(door).text
        assert b"data: " in reply.body


async def test_what_is_too_long_for_it_is_refused_as_the_agents_doing() -> None:
    """A coding agent's own prompt may be longer than a small model's memory."""
    async with thinking() as door:
        reply = await post(door, chat("so " * 3000))
        assert reply.status == 400
        error = door.exchanges()[-1].error
        assert error
        assert error.reason == "bad_request"
        assert "context size" in error.message


def test_turns_of_a_trial_draw_differently_and_trials_do() -> None:
    """The seed is the trial's and the turn's; a person's own words about sampling are kept."""
    hi = Message(role="user", parts=(Text(text="Hi."),))
    call = ToolCall(id="c", name="t", arguments={})
    first = Request(model="m", messages=(hi,))
    second = Request(model="m", messages=(hi, Message(role="assistant", parts=(call,)), hi))
    seeds = [asked(request, seed=seed)["seed"] for request in (first, second) for seed in (1, 5)]
    assert seeds == [1, 5, 2, 6]
    assert asked(first, seed=2**32 - 1)["seed"] == 0
    assert asked(first, seed=1)["temperature"] == 0.7
    warm = asked(
        Request(model="m", messages=(hi,), sampling=Sampling(temperature=0.0, top_p=0.5, max_tokens=9)), seed=1
    )
    assert (warm["temperature"], warm["top_p"], warm["max_tokens"]) == (0.0, 0.5, 9)


def test_at_the_door_it_is_there_or_the_error_says_how_to_get_it(tmp_path: Path) -> None:
    """Nothing is loaded, and nothing is fetched behind anybody's back."""
    light_model()
    assert local_model("smollm2-135m", os.environ).price == FREE
    with pytest.raises(UsageError, match="demeanor models fetch smollm2-135m"):
        local_model("smollm2-135m", {"DEMEANOR_CACHE": str(tmp_path)})
