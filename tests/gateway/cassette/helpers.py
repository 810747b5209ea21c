"""Helpers for the tests of cassettes: requests, exchanges and cassettes."""

from __future__ import annotations

from typing import Any

from demeanor.core.text.codec import encode
from demeanor.core.values.capture import Capture
from demeanor.core.values.exchange import Exchange, Request, Response, StopReason
from demeanor.core.values.messages import Message, Text, Tool, ToolCall, ToolResult
from demeanor.gateway.cassette.cassette import Cassette
from demeanor.gateway.cassette.normalise import NormalisedRequest, Normaliser

TOOL = Tool(name="shell", description="Run a command.", schema={"type": "object"})


def a_request(
    prompt: str = "Hi.", *, system: str = "Be good.", tools: tuple[Tool, ...] = (TOOL,), **more: Any
) -> Request:
    """A first request."""
    messages = (Message(role="system", parts=(Text(text=system),)), Message(role="user", parts=(Text(text=prompt),)))
    return Request(model="large", messages=messages, tools=tools, **more)


def answered(request: Request, text: str = "Ok.", *, number: int = 1) -> Exchange:
    """A request with a text response."""
    response = Response(parts=(Text(text=text),), stop=StopReason.END)
    return Exchange(number=number, dialect="openai-chat", request=request, response=response)


def with_result(result: str, *, call_id: str = "c1", command: str = "ls") -> Request:
    """A second request: a tool was called and returned this result."""
    first = a_request()
    call = ToolCall(id=call_id, name="shell", arguments={"command": command}, raw=f'{{"command": "{command}"}}')
    call_message = Message(role="assistant", parts=(call,))
    result_message = Message(role="user", parts=(ToolResult(call_id=call_id, parts=(Text(text=result),)),))
    return Request(model="large", messages=(*first.messages, call_message, result_message), tools=first.tools)


def normalised(request: Request, normaliser: Normaliser | None = None) -> NormalisedRequest:
    """The normalised form of a request."""
    return (normaliser or Normaliser()).normalise(encode(request))


def a_cassette(*exchanges: Exchange, number: int = 1, **more: Any) -> Cassette:
    """A cassette for the trial that `a_trial` returns."""
    fields = {"eval": "saves_the_note", "subject": "native:played", "scenario": "0" * 16, "recorded": "2026-11-15"}
    return Cassette(**{**fields, **more}, number=number, exchanges=exchanges or (answered(a_request()),))


def a_capture(*exchanges: Exchange, **facts: str) -> Capture:
    """The capture of an attempt in its own folders."""
    bench = {
        "workspace": "/tmp/demeanor-1/3/workspace",
        "home": "/tmp/demeanor-1/3/home",
        "base_url": "http://127.0.0.1:4711/t/0",
    }
    return Capture(trial="saves_the_note/native:played/1", attempt=1, exchanges=exchanges, facts={**bench, **facts})
