"""The small model itself: restricted to the offered tools, counted, free, and usable from every dialect."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.values.errors import UsageError
from demeanor.core.values.exchange import Request, Sampling, StopReason
from demeanor.core.values.messages import Message, Text, Tool, ToolCall
from demeanor.gateway.local.grammar import read_answer
from demeanor.gateway.local.llama_process import EngineLimits, LlamaProcess
from demeanor.gateway.local.model import LocalModel, engine_request, local_model
from demeanor.gateway.local.weights import SMOLLM2
from demeanor.gateway.models.prices import FREE
from demeanor.gateway.server.session import Session
from tests.gateway.helpers import NATIVE, a_tool, chat, post, session_of
from tests.helpers.light_model import light_model

ROOM = EngineLimits(threads=1, slots=2, context=1024)
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
    """A session whose model is the small one."""
    async with session_of(LocalModel(SMOLLM2, LlamaProcess(light_model(), limits=ROOM))) as session:
        yield session


def the_answer(session: Session) -> Any:
    """The last recorded response."""
    last = session.exchanges()[-1]
    assert last.error is None, last.error
    assert last.response
    return last.response


async def test_every_dialect_gets_a_call_of_an_offered_tool() -> None:
    """It calls one of the offered tools; its tokens are counted and cost nothing."""
    async with thinking() as session:
        for dialect, (path, body) in DIALECTS.items():
            reply = await post(session, body, path=path)
            assert reply.status == 200, reply.body
            answer = the_answer(session)
            (call,) = answer.calls
            assert (session.exchanges()[-1].dialect, call.name) == (dialect, "read_file")
            assert call.malformed or set(call.arguments) == {"path"}
            assert answer.usage.input > 20
            assert 0 < answer.usage.output <= 60
            assert session.exchanges()[-1].cost_usd == 0.0
        assert any("local model smollm2-135m" in note for note in session.notes)


async def test_output_is_restricted_at_any_temperature() -> None:
    """At a high temperature and with all kinds of schemas, every response is a call or a final text."""
    tools = [
        Tool(name='odd "name"', schema={"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}),
        Tool(name="nested", schema={"type": "object", "properties": {"list": {"type": "array", "items": READ}}}),
        Tool(name="choice", schema={"properties": {"how": {"enum": ["fast", "slow", 3]}}, "required": ["how"]}),
        Tool(name="knot", schema={"$ref": "#/$defs/a", "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}),
        Tool(name="bare"),
    ]
    engine = LlamaProcess(light_model(), limits=ROOM)
    try:
        for number, offered in enumerate([tools, *([tool] for tool in tools), NATIVE]):
            request = Request(
                model="m",
                messages=(Message(role="user", parts=(Text(text="Do something."),)),),
                tools=tuple(offered),
                tool_choice="required",
                sampling=Sampling(temperature=2.0, max_tokens=40),
            )
            completion = await engine.chat(engine_request(request, seed=number))
            choice = completion["choices"][0]
            truncated = choice["finish_reason"] == "length"
            part, _ = read_answer(choice["message"]["content"], request, number=1, truncated=truncated)
            assert isinstance(part, ToolCall), choice
            assert part.name in {tool.name for tool in offered}
            assert truncated or not part.malformed
    finally:
        engine.stop()


async def test_a_truncated_response_is_an_invalid_call() -> None:
    """Eight tokens are not enough for any call."""
    path, body = DIALECTS["openai-chat"]
    async with thinking() as session:
        assert (await post(session, {**body, "max_tokens": 8}, path=path)).status == 200
        answer = the_answer(session)
        assert answer.stop is StopReason.LENGTH
        assert all(call.malformed for call in answer.calls)


async def test_without_tools_it_answers_with_text() -> None:
    """A plain question gets a plain text, also streamed."""
    async with thinking() as session:
        reply = await post(session, chat("Say hello.", max_tokens=12, stream=True))
        assert reply.status == 200
        assert the_answer(session).text
        assert b"data: " in reply.body


async def test_a_prompt_that_is_too_long_is_a_bad_request() -> None:
    """A coding agent's prompt may be longer than a small model's context."""
    async with thinking() as session:
        reply = await post(session, chat("so " * 3000))
        assert reply.status == 400
        error = session.exchanges()[-1].error
        assert error
        assert error.reason == "bad_request"
        assert "context size" in error.message


def test_seeds_depend_on_trial_and_turn() -> None:
    """The agent's own sampling settings are kept."""
    hi = Message(role="user", parts=(Text(text="Hi."),))
    call = ToolCall(id="c", name="t", arguments={})
    first = Request(model="m", messages=(hi,))
    second = Request(model="m", messages=(hi, Message(role="assistant", parts=(call,)), hi))
    seeds = [engine_request(request, seed=seed)["seed"] for request in (first, second) for seed in (1, 5)]
    assert seeds == [1, 5, 2, 6]
    assert engine_request(first, seed=2**32 - 1)["seed"] == 0
    assert engine_request(first, seed=1)["temperature"] == 0.7
    warm = engine_request(
        Request(model="m", messages=(hi,), sampling=Sampling(temperature=0.0, top_p=0.5, max_tokens=9)), seed=1
    )
    assert (warm["temperature"], warm["top_p"], warm["max_tokens"]) == (0.0, 0.5, 9)


def test_a_missing_model_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    """Nothing is loaded or downloaded."""
    light_model()
    assert local_model("smollm2-135m", os.environ).price == FREE
    with pytest.raises(UsageError, match="demeanor models fetch smollm2-135m"):
        local_model("smollm2-135m", {"DEMEANOR_CACHE": str(tmp_path)})
