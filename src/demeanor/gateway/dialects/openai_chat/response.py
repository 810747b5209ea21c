"""Complete responses of the chat dialect, and errors of both OpenAI dialects."""

from __future__ import annotations

from demeanor.core.values.exchange import ErrorReason, ProviderError, Request, Response, StopReason, Usage
from demeanor.core.values.messages import Extra, Part, Text, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.conversions import is_refusal, stop_reason
from demeanor.gateway.dialects.dialect import Malformed, WireFormat
from demeanor.gateway.dialects.errors import status_of
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_string,
    own_fields,
    parse_object,
    require_object,
    to_json,
)
from demeanor.gateway.dialects.openai_chat.message import NO_CONTENT, read_message, write_assistant
from demeanor.gateway.dialects.openai_chat.thinking import NAME

CHOICE = f"{NAME}.choice"
MESSAGE = f"{NAME}.message"
OTHERS = f"{NAME}.others"

_STOPS = {
    "stop": StopReason.END,
    "length": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_USE,
    "function_call": StopReason.TOOL_USE,
    "content_filter": StopReason.REFUSAL,
    "error": StopReason.ERROR,
}
_STOP_WORDS = {
    StopReason.END: "stop",
    StopReason.TOOL_USE: "tool_calls",
    StopReason.LENGTH: "length",
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.REFUSAL: "content_filter",
    StopReason.ERROR: "error",
}

_NO_USAGE = Usage()


def read_response(body: bytes) -> Response:
    """Read a provider's response that is not streamed."""
    top = parse_object(body)
    choices = maybe_list(top, "choices")
    if not choices:
        raise Malformed("choices: expected at least one")
    choice = require_object(choices[0], "choices[0]")
    message = read_message({"role": "assistant", **maybe_object(choice, "message")})
    extra: dict[str, Json | list[Json] | bool] = {
        NAME: {key: value for key, value in top.items() if key != "choices"},
        CHOICE: {key: value for key, value in choice.items() if key != "message"},
        MESSAGE: own_fields(message.extra, NAME),
        OTHERS: choices[1:],
        NO_CONTENT: NO_CONTENT in message.extra,
    }
    return Response(
        parts=message.parts,
        stop=read_stop(
            maybe_string(choice, "finish_reason"),
            calls=any(isinstance(part, ToolCall) for part in message.parts),
            refused=any(map(is_refusal, message.parts)),
        ),
        usage=read_usage(maybe_object(top, "usage")),
        id=maybe_string(top, "id"),
        model=maybe_string(top, "model"),
        extra={key: value for key, value in extra.items() if value or key == NAME},
    )


def write_response(response: Response, request: Request) -> WireFormat:
    """Write a response for the client."""
    choice_fields = own_fields(response.extra, CHOICE)
    choice: Json = {"index": 0, "logprobs": None} if NAME not in response.extra else {}
    choice.update(choice_fields)
    calls, refused = bool(response.calls), any(map(is_refusal, response.parts))
    stop = read_stop(choice_fields.get("finish_reason"), calls=calls, refused=refused)
    if "finish_reason" not in choice_fields or stop != response.stop:
        choice["finish_reason"] = write_stop(response.stop, calls=calls, refused=refused)
    choice["message"] = _message(response)
    top: Json = {
        **new_response(
            response.id or ids.generated("chatcmpl-", response.text, *(c.id for c in response.calls)), "chat.completion"
        ),
        "model": response.model or request.model,
        **own_fields(response.extra, NAME),
        "choices": [choice, *response.extra.get(OTHERS, ())],
    }
    if response.id is not None:
        top["id"] = response.id
    if read_usage(top.get("usage") or {}) != response.usage:
        top["usage"] = write_usage(response.usage)
    return WireFormat(body=to_json(top))


def new_response(response_id: str, kind: str) -> Json:
    """The fields at the start of a response and of each chunk."""
    return {"id": response_id, "object": kind, "created": 0}


def read_stop(word: str | None, *, calls: bool, refused: bool) -> StopReason:
    """The canonical stop reason."""
    return stop_reason(word, _STOPS, calls=calls, refused=refused)


def write_stop(stop: StopReason, *, calls: bool, refused: bool) -> str:
    """The dialect's stop reason; a refusal of the model itself has a field of its own."""
    if stop is StopReason.REFUSAL and refused:
        return "stop"
    return _STOP_WORDS.get(stop, "tool_calls" if calls else "stop")


def read_usage(data: Json) -> Usage:
    """Token counts; cached and reasoning tokens are included in input and output, as in the canonical form."""
    if not data:
        return _NO_USAGE
    input_details, output_details = (
        maybe_object(data, "prompt_tokens_details"),
        maybe_object(data, "completion_tokens_details"),
    )
    cached = (
        maybe_count(input_details, "cached_tokens"),
        maybe_count(data, "prompt_cache_hit_tokens"),  # DeepSeek
        maybe_count(data, "cached_tokens"),  # Kimi
    )
    return Usage(
        input=maybe_count(data, "prompt_tokens"),
        output=maybe_count(data, "completion_tokens"),
        cache_read=next((count for count in cached if count is not None), None),
        cache_write=maybe_count(input_details, "cache_write_tokens"),
        reasoning=maybe_count(output_details, "reasoning_tokens"),
    )


def write_usage(usage: Usage) -> Json:
    """The same in this dialect, which can't express unknown counts."""
    prompt, completion = usage.input or 0, usage.output or 0
    data: Json = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    if usage.cache_read is not None or usage.cache_write is not None:
        data["prompt_tokens_details"] = {"cached_tokens": usage.cache_read or 0}
        if usage.cache_write is not None:
            data["prompt_tokens_details"]["cache_write_tokens"] = usage.cache_write
    if usage.reasoning is not None:
        data["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return data


def _message(response: Response) -> Json:
    extra: Extra = {NAME: own_fields(response.extra, MESSAGE)}
    if NO_CONTENT in response.extra:
        extra = {**extra, NO_CONTENT: True}
    same_dialect = NAME in response.extra
    message = write_assistant(response.parts if same_dialect else _join_text_parts(response.parts), extra)
    if not same_dialect:
        message.setdefault("refusal", None)
        message["content"] = message["content"] or None
    return message


def _join_text_parts(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """A response has one text here; other dialects may split it."""
    text = "".join(part.text for part in parts if isinstance(part, Text) and not is_refusal(part))
    others = tuple(part for part in parts if not isinstance(part, Text) or is_refusal(part))
    return (Text(text=text), *others) if text else others


_ERROR_TYPES: dict[ErrorReason, tuple[str, str | None]] = {
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "auth": ("authentication_error", "invalid_api_key"),
    "bad_request": ("invalid_request_error", None),
    "cassette": ("invalid_request_error", "cassette"),
    "prefix": ("invalid_request_error", "prefix"),
    "overloaded": ("server_error", "overloaded"),
    "budget": ("insufficient_quota", "insufficient_quota"),
}


def error_body(error: ProviderError) -> Json:
    """The body of an error response."""
    kind, code = _ERROR_TYPES.get(error.reason, ("server_error", error.reason))
    return {"error": {"message": error.message, "type": kind, "param": None, "code": code}}


def write_error(error: ProviderError) -> WireFormat:
    """An error response for OpenAI's clients."""
    return WireFormat(body=to_json(error_body(error)), status=status_of(error))
