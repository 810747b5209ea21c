"""Whole answers of the Gemini format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from demeanor.core.exchange import Request, Response, StopReason, Usage
from demeanor.core.messages import Part, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.dialect import Malformed, WireFormat
from demeanor.gateway.dialects.gemini.parts import NAME, read_part, sealed, write_part
from demeanor.gateway.dialects.json_reader import (
    Json,
    dump,
    each,
    inner,
    items,
    mapping,
    maybe_count,
    maybe_string,
    own,
    parse_object,
)

CANDIDATE = f"{NAME}.candidate"
CONTENT = f"{NAME}.content"
OTHERS = f"{NAME}.others"
USAGE = "usageMetadata"

_STOPS = {
    "STOP": StopReason.END,
    "MAX_TOKENS": StopReason.LENGTH,
    "SAFETY": StopReason.REFUSAL,
    "RECITATION": StopReason.REFUSAL,
    "BLOCKLIST": StopReason.REFUSAL,
    "PROHIBITED_CONTENT": StopReason.REFUSAL,
    "SPII": StopReason.REFUSAL,
    "IMAGE_SAFETY": StopReason.REFUSAL,
    "MALFORMED_FUNCTION_CALL": StopReason.ERROR,
    "UNEXPECTED_TOOL_CALL": StopReason.ERROR,
    "MALFORMED_RESPONSE": StopReason.ERROR,
}
_WORDS = {StopReason.LENGTH: "MAX_TOKENS", StopReason.REFUSAL: "SAFETY", StopReason.ERROR: "OTHER"}


def read_response(body: bytes) -> Response:
    """What a provider answers when it does not stream."""
    top = parse_object(body)
    candidates = items(top, "candidates")
    if not candidates and not top.keys() & {"promptFeedback", USAGE}:
        raise Malformed("candidates: expected at least one")
    first: Json = mapping(candidates[0], "candidates[0]") if candidates else {}
    content = inner(first, "content")
    given = maybe_string(top, "responseId")
    parts = tuple(named(each(content, "parts", read_part), given or ""))
    told = {NAME, CONTENT} if "content" in first else {NAME}
    extra: dict[str, Any] = {
        NAME: {key: value for key, value in top.items() if key != "candidates" or not value},
        CANDIDATE: {key: value for key, value in first.items() if key != "content"},
        CONTENT: {key: value for key, value in content.items() if key != "parts" or not value},
        OTHERS: candidates[1:],
    }
    return Response(
        parts=parts,
        stop=read_stop(top, first, calls=any(isinstance(part, ToolCall) for part in parts)),
        usage=read_usage(inner(top, USAGE)),
        id=given,
        model=maybe_string(top, "modelVersion"),
        extra={key: value for key, value in extra.items() if value or key in told},
    )


def write_response(response: Response, request: Request) -> WireFormat:
    """The same, as the client wants to read it."""
    if NAME not in response.extra:
        return WireFormat(body=dump(_foreign(response, request)))
    top: Json = dict(own(response.extra, NAME))
    candidate: Json = dict(own(response.extra, CANDIDATE))
    if CONTENT in response.extra or response.parts:
        candidate["content"] = {**own(response.extra, CONTENT)}
        if response.parts:
            candidate["content"]["parts"] = [item for part in response.parts for item in write_part(part)]
    calls = bool(response.calls)
    if read_stop(top, candidate, calls=calls) != response.stop:
        candidate["finishReason"] = write_stop(response.stop)
    if read_usage(inner(top, USAGE)) != response.usage:
        top[USAGE] = write_usage(response.usage)
    if candidate:
        top["candidates"] = [candidate, *response.extra.get(OTHERS, ())]
    return WireFormat(body=dump(top))


def _foreign(response: Response, request: Request) -> Json:
    parts = [item for part in response.parts for item in write_answer_part(part)]
    return {
        "candidates": [
            {
                "content": {"parts": parts or [{"text": ""}], "role": "model"},
                "finishReason": write_stop(response.stop),
                "index": 0,
            }
        ],
        USAGE: write_usage(response.usage),
        "modelVersion": response.model or request.model,
        "responseId": response.id or ids.made("", response.text, *(call.id for call in response.calls)),
    }


def write_answer_part(part: Part) -> list[Json]:
    """A part of another provider's answer; calls carry their id, so that results come back with it."""
    told = write_part(sealed(part))
    if isinstance(part, ToolCall):
        told[0]["functionCall"] = {"id": part.id, **told[0]["functionCall"]}
    return told


def named(parts: Iterable[Part], answer: str) -> Iterable[Part]:
    """`parts`, the calls without an id given one."""
    for place, part in enumerate(parts):
        if isinstance(part, ToolCall) and not part.id:
            yield replace(part, id=ids.made("call_", answer, place))
        else:
            yield part


def read_stop(top: Json, candidate: Json, *, calls: bool) -> StopReason:
    """Why the model stopped; a prompt that was blocked has no candidate at all."""
    if inner(top, "promptFeedback").get("blockReason"):
        return StopReason.REFUSAL
    found = _STOPS.get(maybe_string(candidate, "finishReason") or "", StopReason.UNKNOWN)
    return StopReason.TOOL_USE if calls and found is StopReason.END else found


def write_stop(stop: StopReason) -> str:
    """The same in this dialect's words."""
    return _WORDS.get(stop, "STOP")


def read_usage(data: Json) -> Usage:
    """Tokens. Here the candidates' count leaves out thoughts; the canon counts them in."""
    asked, answered = maybe_count(data, "promptTokenCount"), maybe_count(data, "candidatesTokenCount")
    tools, thoughts = maybe_count(data, "toolUsePromptTokenCount"), maybe_count(data, "thoughtsTokenCount")
    return Usage(
        input=None if asked is None else asked + (tools or 0),
        output=None if answered is None and thoughts is None else (answered or 0) + (thoughts or 0),
        cache_read=maybe_count(data, "cachedContentTokenCount"),
        reasoning=thoughts,
    )


def write_usage(usage: Usage) -> Json:
    """The same; this dialect has no word for unknown."""
    asked, answered, thoughts = usage.input or 0, usage.output or 0, usage.reasoning or 0
    told: Json = {"promptTokenCount": asked, "candidatesTokenCount": max(0, answered - thoughts)}
    told["totalTokenCount"] = asked + answered
    if usage.cache_read is not None:
        told["cachedContentTokenCount"] = usage.cache_read
    if usage.reasoning is not None:
        told["thoughtsTokenCount"] = usage.reasoning
    return told
