"""Whole answers of the Responses format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from demeanor.core.exchange import Request, Response, StopReason, Usage
from demeanor.core.messages import Opaque, Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.dialect import WireFormat
from demeanor.gateway.dialects.json_reader import (
    Json,
    dump,
    each,
    inner,
    maybe_count,
    maybe_string,
    own,
    parse_object,
    wrong,
)
from demeanor.gateway.dialects.openai_responses.content import NAME, read_part, write_part
from demeanor.gateway.dialects.openai_responses.items import (
    is_call,
    opaque,
    read_call,
    read_reasoning,
    sealed_item,
    write_call,
    write_reasoning,
)
from demeanor.gateway.dialects.openai_responses.tools import custom_tools

ITEM = f"{NAME}.item"
"""Under this name a part's extra keeps the fields of the message that it stood in."""

_WHY = {"max_output_tokens": StopReason.LENGTH, "content_filter": StopReason.REFUSAL}
_WORDS = {StopReason.LENGTH: "max_output_tokens", StopReason.REFUSAL: "content_filter"}


def read_response(body: bytes) -> Response:
    """What a provider answers when it does not stream."""
    top = parse_object(body)
    if not isinstance(top.get("output"), list):
        wrong("output", "a list", top.get("output"))
    parts = tuple(part for item in each(top, "output", read_item) for part in item)
    return Response(
        parts=parts,
        stop=read_stop(top, calls=any(isinstance(part, ToolCall) for part in parts)),
        usage=read_usage(inner(top, "usage")),
        id=maybe_string(top, "id"),
        model=maybe_string(top, "model"),
        extra={NAME: {key: value for key, value in top.items() if key != "output"}},
    )


def write_response(response: Response, request: Request) -> WireFormat:
    """The same, as the client wants to read it."""
    given = response.id or ids.made("resp_", response.text, *(call.id for call in response.calls))
    fields = own(response.extra, NAME)
    top: Json = dict(fields) if fields else head(given, response.model or request.model)
    top["output"] = list(write_items(response.parts, given, custom_tools(request)))
    if response.id is not None:
        top["id"] = response.id
    calls = bool(response.calls)
    if not fields or read_stop(top, calls=calls) != response.stop:
        top.update(write_stop(response.stop))
    if read_usage(inner(top, "usage")) != response.usage or not fields:
        top["usage"] = write_usage(response.usage)
    return WireFormat(body=dump(top))


def head(given: str, model: str) -> Json:
    """An answer that has only just begun."""
    return {
        "id": given,
        "object": "response",
        "created_at": 0,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": model,
        "output": [],
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": None,
    }


def read_item(data: Json) -> list[Part]:
    """The parts of one item."""
    kind = maybe_string(data, "type")
    if kind == "message" and data.get("content"):
        item = {key: value for key, value in data.items() if key != "content"}
        return [_in_item(part, item) for part in each(data, "content", read_part)]
    if kind == "reasoning":
        return [read_reasoning(data)]
    return [read_call(data) if is_call(data) else opaque(data)]


def write_items(parts: tuple[Part, ...], answer: str, custom: set[str]) -> Iterator[Json]:
    """The items that tell `parts`; texts that stood in one message stand in one again."""
    message: Json | None = None
    for place, part in enumerate(parts):
        item = part.extra.get(ITEM)
        if message is not None and (item is None or item.get("id") != message.get("id")):
            yield message
            message = None
        if item is not None:
            message = message or {**item, "content": []}
            told = write_part(part, kind="output_text")
            message["content"] += [told] if told else []
        else:
            yield from write_item(part, ids.digest(answer, place), custom)
    if message is not None:
        yield message


def write_item(part: Part, seed: str, custom: set[str]) -> Iterator[Json]:
    """The items that tell one part of another provider's answer."""
    if isinstance(part, Text):
        yield message_item(f"msg_{seed}", part.text)
    elif isinstance(part, Thinking):
        yield {"id": f"rs_{seed}", **write_reasoning(part)}
    elif isinstance(part, ToolCall):
        if part.signature:
            yield sealed_item(part.signature, seed)
        yield call_item(part, custom)
    elif isinstance(part, Opaque) and NAME in part.extra:
        yield own(part.extra, NAME)


def message_item(given: str, text: str, status: str = "completed") -> Json:
    """A message with one text."""
    content = [] if status == "in_progress" else [output_text(text)]
    return {"id": given, "type": "message", "role": "assistant", "status": status, "content": content}


def output_text(text: str) -> Json:
    """One text."""
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": text}


def call_item(call: ToolCall, custom: set[str]) -> Json:
    """A call in an answer, which must have an id of its own."""
    if NAME in call.extra:
        return write_call(call)
    if call.name in custom:
        return {"id": ids.item_id("ctc_", call.id), **write_call(call, custom=True)}
    return {"id": ids.item_id("fc_", call.id), **write_call(call), "status": "completed"}


def read_stop(top: Json, *, calls: bool) -> StopReason:
    """Why the model stopped."""
    status = maybe_string(top, "status")
    if status == "incomplete":
        return _WHY.get(maybe_string(inner(top, "incomplete_details"), "reason") or "", StopReason.UNKNOWN)
    if status == "failed":
        return StopReason.ERROR
    if status == "completed":
        return StopReason.TOOL_USE if calls else StopReason.END
    return StopReason.UNKNOWN


def write_stop(stop: StopReason) -> Json:
    """The same in this dialect's words."""
    if stop in _WORDS:
        return {"status": "incomplete", "incomplete_details": {"reason": _WORDS[stop]}}
    if stop is StopReason.ERROR:
        return {"status": "failed", "error": {"code": "server_error", "message": "the provider broke off"}}
    return {"status": "completed"}


def read_usage(data: Json) -> Usage:
    """Tokens; cached and reasoning ones are counted within input and output here too."""
    asked, answered = inner(data, "input_tokens_details"), inner(data, "output_tokens_details")
    return Usage(
        input=maybe_count(data, "input_tokens"),
        output=maybe_count(data, "output_tokens"),
        cache_read=maybe_count(asked, "cached_tokens"),
        cache_write=maybe_count(asked, "cache_write_tokens"),
        reasoning=maybe_count(answered, "reasoning_tokens"),
    )


def write_usage(usage: Usage) -> Json:
    """The same; this dialect has no word for unknown."""
    asked, answered = usage.input or 0, usage.output or 0
    details: Json = {"cached_tokens": usage.cache_read or 0}
    if usage.cache_write is not None:
        details["cache_write_tokens"] = usage.cache_write
    return {
        "input_tokens": asked,
        "input_tokens_details": details,
        "output_tokens": answered,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": asked + answered,
    }


def _in_item(part: Part, item: Json) -> Part:
    extra: dict[str, Any] = {**part.extra, ITEM: item}
    return Text(text=part.text, extra=extra) if isinstance(part, Text) else Opaque(extra=extra)
