"""Whole answers of the chat format."""

from __future__ import annotations

from demeanor.core.exchange import Request, Response, StopReason, Usage
from demeanor.core.messages import Extra, Part, Text, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.dialect import Malformed, WireFormat
from demeanor.gateway.dialects.json_reader import (
    Json,
    dump,
    inner,
    items,
    mapping,
    maybe_count,
    maybe_string,
    own,
    parse_object,
)
from demeanor.gateway.dialects.openai_chat.message import BARE, read_message, write_assistant
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
_WORDS = {
    StopReason.END: "stop",
    StopReason.TOOL_USE: "tool_calls",
    StopReason.LENGTH: "length",
    StopReason.STOP_SEQUENCE: "stop",
    StopReason.REFUSAL: "content_filter",
    StopReason.ERROR: "error",
}


def read_response(body: bytes) -> Response:
    """What a provider answers when it does not stream."""
    top = parse_object(body)
    choices = items(top, "choices")
    if not choices:
        raise Malformed("choices: expected at least one")
    choice = mapping(choices[0], "choices[0]")
    message = read_message({"role": "assistant", **inner(choice, "message")})
    extra: dict[str, Json | list[Json] | bool] = {
        NAME: {key: value for key, value in top.items() if key != "choices"},
        CHOICE: {key: value for key, value in choice.items() if key != "message"},
        MESSAGE: own(message.extra, NAME),
        OTHERS: choices[1:],
        BARE: BARE in message.extra,
    }
    return Response(
        parts=message.parts,
        stop=read_stop(
            maybe_string(choice, "finish_reason"), calls=any(isinstance(p, ToolCall) for p in message.parts)
        ),
        usage=read_usage(inner(top, "usage")),
        id=maybe_string(top, "id"),
        model=maybe_string(top, "model"),
        extra={key: value for key, value in extra.items() if value or key == NAME},
    )


def write_response(response: Response, request: Request) -> WireFormat:
    """The same, as the client wants to read it."""
    told = own(response.extra, CHOICE)
    choice: Json = {"index": 0, "logprobs": None} if NAME not in response.extra else {}
    choice.update(told)
    calls = bool(response.calls)
    if "finish_reason" not in told or read_stop(told["finish_reason"], calls=calls) != response.stop:
        choice["finish_reason"] = write_stop(response.stop, calls=calls)
    choice["message"] = _message(response)
    top: Json = {
        **head(response.id or ids.made("chatcmpl-", response.text, *(c.id for c in response.calls)), "chat.completion"),
        "model": response.model or request.model,
        **own(response.extra, NAME),
        "choices": [choice, *response.extra.get(OTHERS, ())],
    }
    if response.id is not None:
        top["id"] = response.id
    if read_usage(top.get("usage") or {}) != response.usage:
        top["usage"] = write_usage(response.usage)
    return WireFormat(body=dump(top))


def head(given: str, kind: str) -> Json:
    """The fields that open an answer and each of its chunks."""
    return {"id": given, "object": kind, "created": 0}


def read_stop(word: str | None, *, calls: bool) -> StopReason:
    """Why the model stopped. Many servers say `stop` although there are calls."""
    found = _STOPS.get(word or "", StopReason.UNKNOWN)
    return StopReason.TOOL_USE if calls and found is StopReason.END else found


def write_stop(stop: StopReason, *, calls: bool) -> str:
    """The same in this dialect's words."""
    return _WORDS.get(stop, "tool_calls" if calls else "stop")


def read_usage(data: Json) -> Usage:
    """Tokens; cached and reasoning ones are counted within input and output here too."""
    asked, answered = inner(data, "prompt_tokens_details"), inner(data, "completion_tokens_details")
    cached = maybe_count(asked, "cached_tokens")
    return Usage(
        input=maybe_count(data, "prompt_tokens"),
        output=maybe_count(data, "completion_tokens"),
        cache_read=maybe_count(data, "prompt_cache_hit_tokens") if cached is None else cached,
        cache_write=maybe_count(asked, "cache_write_tokens"),
        reasoning=maybe_count(answered, "reasoning_tokens"),
    )


def write_usage(usage: Usage) -> Json:
    """The same; this dialect has no word for unknown."""
    asked, answered = usage.input or 0, usage.output or 0
    told: Json = {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}
    if usage.cache_read is not None or usage.cache_write is not None:
        told["prompt_tokens_details"] = {"cached_tokens": usage.cache_read or 0}
        if usage.cache_write is not None:
            told["prompt_tokens_details"]["cache_write_tokens"] = usage.cache_write
    if usage.reasoning is not None:
        told["completion_tokens_details"] = {"reasoning_tokens": usage.reasoning}
    return told


def _message(response: Response) -> Json:
    extra: Extra = {NAME: own(response.extra, MESSAGE)}
    if BARE in response.extra:
        extra = {**extra, BARE: True}
    ours = NAME in response.extra
    told = write_assistant(response.parts if ours else _one_text(response.parts), extra)
    if not ours:
        told.setdefault("refusal", None)
        told["content"] = told["content"] or None
    return told


def _one_text(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Pieces of text belong together here; a conversation's history may keep them apart."""
    text = "".join(part.text for part in parts if isinstance(part, Text))
    others = tuple(part for part in parts if not isinstance(part, Text))
    return (Text(text=text), *others) if text else others
