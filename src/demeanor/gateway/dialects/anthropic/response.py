"""Complete responses and errors of the Anthropic dialect."""

from __future__ import annotations

from demeanor.core.values.exchange import ErrorReason, ProviderError, Request, Response, StopReason, Usage
from demeanor.core.values.messages import ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.anthropic.blocks import NAME, read_block, write_blocks
from demeanor.gateway.dialects.conversions import stop_reason
from demeanor.gateway.dialects.dialect import WireFormat
from demeanor.gateway.dialects.errors import status_of
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_count,
    maybe_object,
    maybe_string,
    own_fields,
    parse_object,
    read_each,
    require_list,
    to_json,
)

_STOPS = {
    "end_turn": StopReason.END,
    "max_tokens": StopReason.LENGTH,
    "model_context_window_exceeded": StopReason.LENGTH,
    "stop_sequence": StopReason.STOP_SEQUENCE,
    "tool_use": StopReason.TOOL_USE,
    "pause_turn": StopReason.PAUSE,
    "refusal": StopReason.REFUSAL,
}
_STOP_WORDS = {
    StopReason.END: "end_turn",
    StopReason.LENGTH: "max_tokens",
    StopReason.STOP_SEQUENCE: "stop_sequence",
    StopReason.TOOL_USE: "tool_use",
    StopReason.PAUSE: "pause_turn",
    StopReason.REFUSAL: "refusal",
}


def read_response(body: bytes) -> Response:
    """Read a provider's response that is not streamed."""
    top = parse_object(body)
    require_list(top, "content")
    parts = read_each(top, "content", read_block)
    return Response(
        parts=parts,
        stop=read_stop(maybe_string(top, "stop_reason"), calls=any(isinstance(part, ToolCall) for part in parts)),
        usage=read_usage(maybe_object(top, "usage")),
        id=maybe_string(top, "id"),
        model=maybe_string(top, "model"),
        extra={NAME: {key: value for key, value in top.items() if key != "content"}},
    )


def write_response(response: Response, request: Request) -> WireFormat:
    """Write a response for the client."""
    response_id = response.id or ids.generated("msg_", response.text, *(call.id for call in response.calls))
    fields = own_fields(response.extra, NAME)
    top: Json = {**new_message(response_id, response.model or request.model), **fields}
    top["content"] = write_blocks(response.parts, to_model=False)
    calls = bool(response.calls)
    if "stop_reason" not in fields or read_stop(fields["stop_reason"], calls=calls) != response.stop:
        top["stop_reason"] = write_stop(response.stop, calls=calls)
    if response.id is not None:
        top["id"] = response.id
    if "usage" not in fields or read_usage(maybe_object(fields, "usage")) != response.usage:
        top["usage"] = write_usage(response.usage)
    return WireFormat(body=to_json(top))


def new_message(response_id: str, model: str) -> Json:
    """The fields of a response that has just started."""
    return {
        "id": response_id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


def read_stop(word: str | None, *, calls: bool) -> StopReason:
    """The canonical stop reason."""
    return stop_reason(word, _STOPS, calls=calls)


def write_stop(stop: StopReason, *, calls: bool) -> str:
    """The dialect's stop reason."""
    return _STOP_WORDS.get(stop, "tool_use" if calls else "end_turn")


def read_usage(data: Json) -> Usage:
    """Token counts. `input_tokens` excludes tokens read from or written to a cache; the canonical count does not."""
    fresh, output = maybe_count(data, "input_tokens"), maybe_count(data, "output_tokens")
    read, written = maybe_count(data, "cache_read_input_tokens"), maybe_count(data, "cache_creation_input_tokens")
    details = maybe_object(data, "output_tokens_details")
    return Usage(
        input=None if fresh is None else fresh + (read or 0) + (written or 0),
        output=output,
        cache_read=read,
        cache_write=written,
        reasoning=maybe_count(details, "thinking_tokens"),
    )


def write_usage(usage: Usage) -> Json:
    """The same in this dialect, which can't express unknown counts."""
    cached = (usage.cache_read or 0) + (usage.cache_write or 0)
    data: Json = {"input_tokens": max(0, (usage.input or 0) - cached), "output_tokens": usage.output or 0}
    if usage.cache_read is not None:
        data["cache_read_input_tokens"] = usage.cache_read
    if usage.cache_write is not None:
        data["cache_creation_input_tokens"] = usage.cache_write
    if usage.reasoning is not None:
        data["output_tokens_details"] = {"thinking_tokens": usage.reasoning}
    return data


_OVERLOADED_STATUS = 529
_ERROR_TYPES: dict[ErrorReason, str] = {
    "rate_limit": "rate_limit_error",
    "auth": "authentication_error",
    "bad_request": "invalid_request_error",
    "cassette": "invalid_request_error",
    "prefix": "invalid_request_error",
    "overloaded": "overloaded_error",
    "stalled": "timeout_error",
    "budget": "billing_error",
}


def error_body(error: ProviderError) -> Json:
    """The body of an error response, and the data of an error event in a stream."""
    return {"type": "error", "error": {"type": _ERROR_TYPES.get(error.reason, "api_error"), "message": error.message}}


def write_error(error: ProviderError) -> WireFormat:
    """An error response for Anthropic's clients."""
    status = _OVERLOADED_STATUS if error.reason == "overloaded" and error.status is None else status_of(error)
    return WireFormat(body=to_json(error_body(error)), status=status)
