"""Whole answers of the Anthropic format."""

from __future__ import annotations

from demeanor.core.exchange import Request, Response, StopReason, Usage
from demeanor.core.messages import ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.anthropic.blocks import NAME, read_block, write_blocks
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

_STOPS = {
    "end_turn": StopReason.END,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "tool_use": StopReason.TOOL_USE,
    "refusal": StopReason.REFUSAL,
}
_WORDS = {
    StopReason.END: "end_turn",
    StopReason.LENGTH: "max_tokens",
    StopReason.STOP_SEQUENCE: "stop_sequence",
    StopReason.TOOL_USE: "tool_use",
    StopReason.REFUSAL: "refusal",
}


def read_response(body: bytes) -> Response:
    """What a provider answers when it does not stream."""
    top = parse_object(body)
    if not isinstance(top.get("content"), list):
        wrong("content", "a list", top.get("content"))
    parts = each(top, "content", read_block)
    return Response(
        parts=parts,
        stop=read_stop(maybe_string(top, "stop_reason"), calls=any(isinstance(part, ToolCall) for part in parts)),
        usage=read_usage(inner(top, "usage")),
        id=maybe_string(top, "id"),
        model=maybe_string(top, "model"),
        extra={NAME: {key: value for key, value in top.items() if key != "content"}},
    )


def write_response(response: Response, request: Request) -> WireFormat:
    """The same, as the client wants to read it."""
    given = response.id or ids.made("msg_", response.text, *(call.id for call in response.calls))
    fields = own(response.extra, NAME)
    top: Json = {**head(given, response.model or request.model), **fields}
    top["content"] = write_blocks(response.parts, to_model=False)
    calls = bool(response.calls)
    if "stop_reason" not in fields or read_stop(fields["stop_reason"], calls=calls) != response.stop:
        top["stop_reason"] = write_stop(response.stop, calls=calls)
    if response.id is not None:
        top["id"] = response.id
    if "usage" not in fields or read_usage(fields["usage"]) != response.usage:
        top["usage"] = write_usage(response.usage)
    return WireFormat(body=dump(top))


def head(given: str, model: str) -> Json:
    """The fields that open an answer."""
    return {
        "id": given,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def read_stop(word: str | None, *, calls: bool) -> StopReason:
    """Why the model stopped."""
    found = _STOPS.get(word or "", StopReason.UNKNOWN)
    return StopReason.TOOL_USE if calls and found is StopReason.END else found


def write_stop(stop: StopReason, *, calls: bool) -> str:
    """The same in this dialect's words."""
    return _WORDS.get(stop, "tool_use" if calls else "end_turn")


def read_usage(data: Json) -> Usage:
    """Tokens. Here `input_tokens` leaves out what was read from or written to a cache; the canon counts it in."""
    fresh, output = maybe_count(data, "input_tokens"), maybe_count(data, "output_tokens")
    read, written = maybe_count(data, "cache_read_input_tokens"), maybe_count(data, "cache_creation_input_tokens")
    details = inner(data, "output_tokens_details")
    return Usage(
        input=None if fresh is None else fresh + (read or 0) + (written or 0),
        output=output,
        cache_read=read,
        cache_write=written,
        reasoning=maybe_count(details, "thinking_tokens"),
    )


def write_usage(usage: Usage) -> Json:
    """The same; this dialect has no word for unknown."""
    cached = (usage.cache_read or 0) + (usage.cache_write or 0)
    told: Json = {"input_tokens": max(0, (usage.input or 0) - cached), "output_tokens": usage.output or 0}
    if usage.cache_read is not None:
        told["cache_read_input_tokens"] = usage.cache_read
    if usage.cache_write is not None:
        told["cache_creation_input_tokens"] = usage.cache_write
    if usage.reasoning is not None:
        told["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    return told
