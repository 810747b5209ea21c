"""Complete responses and errors of the Gemini dialect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from demeanor.core.values.exchange import ErrorReason, ProviderError, Request, Response, StopReason, Usage
from demeanor.core.values.messages import Part, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.conversions import stop_reason
from demeanor.gateway.dialects.dialect import Malformed, WireFormat
from demeanor.gateway.dialects.errors import status_of
from demeanor.gateway.dialects.gemini.parts import NAME, read_part, with_wrapped_signature, write_part
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_string,
    own_fields,
    parse_object,
    read_each,
    require_object,
    to_json,
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
    "IMAGE_PROHIBITED_CONTENT": StopReason.REFUSAL,
    "IMAGE_RECITATION": StopReason.REFUSAL,
    "MODEL_ARMOR": StopReason.REFUSAL,
    "LANGUAGE": StopReason.REFUSAL,
    "MALFORMED_FUNCTION_CALL": StopReason.ERROR,
    "UNEXPECTED_TOOL_CALL": StopReason.ERROR,
    "MALFORMED_RESPONSE": StopReason.ERROR,
    "TOO_MANY_TOOL_CALLS": StopReason.ERROR,
    "MISSING_THOUGHT_SIGNATURE": StopReason.ERROR,
    "OTHER": StopReason.ERROR,
}
_STOP_WORDS = {StopReason.LENGTH: "MAX_TOKENS", StopReason.REFUSAL: "SAFETY", StopReason.ERROR: "OTHER"}


def read_response(body: bytes) -> Response:
    """Read a provider's response that is not streamed."""
    top = parse_object(body)
    candidates = maybe_list(top, "candidates")
    if not candidates and not top.keys() & {"promptFeedback", USAGE}:
        raise Malformed("candidates: expected at least one")
    first: Json = require_object(candidates[0], "candidates[0]") if candidates else {}
    content = maybe_object(first, "content")
    response_id = maybe_string(top, "responseId")
    parts = tuple(with_call_ids(read_each(content, "parts", read_part), response_id or ""))
    always_kept = {NAME, CONTENT} if "content" in first else {NAME}
    extra: dict[str, Any] = {
        NAME: {key: value for key, value in top.items() if key != "candidates" or not value},
        CANDIDATE: {key: value for key, value in first.items() if key != "content"},
        CONTENT: {key: value for key, value in content.items() if key != "parts" or not value},
        OTHERS: candidates[1:],
    }
    return Response(
        parts=parts,
        stop=read_stop(top, first, calls=any(isinstance(part, ToolCall) for part in parts)),
        usage=read_usage(maybe_object(top, USAGE)),
        id=response_id,
        model=maybe_string(top, "modelVersion"),
        extra={key: value for key, value in extra.items() if value or key in always_kept},
    )


def write_response(response: Response, request: Request) -> WireFormat:
    """Write a response for the client."""
    if NAME not in response.extra:
        return WireFormat(body=to_json(_translated(response, request)))
    top: Json = dict(own_fields(response.extra, NAME))
    candidate: Json = dict(own_fields(response.extra, CANDIDATE))
    if CONTENT in response.extra or response.parts:
        candidate["content"] = {**own_fields(response.extra, CONTENT)}
        if response.parts:
            candidate["content"]["parts"] = [item for part in response.parts for item in write_part(part)]
    calls = bool(response.calls)
    if read_stop(top, candidate, calls=calls) != response.stop:
        candidate["finishReason"] = write_stop(response.stop)
    if read_usage(maybe_object(top, USAGE)) != response.usage:
        top[USAGE] = write_usage(response.usage)
    if candidate:
        top["candidates"] = [candidate, *response.extra.get(OTHERS, ())]
    return WireFormat(body=to_json(top))


def _translated(response: Response, request: Request) -> Json:
    parts = [item for part in response.parts for item in write_response_part(part)]
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
        "responseId": response.id or ids.generated("", response.text, *(call.id for call in response.calls)),
    }


def write_response_part(part: Part) -> list[Json]:
    """The parts for one part of another provider's response; calls contain their id, so that results refer to it."""
    parts = write_part(with_wrapped_signature(part))
    if isinstance(part, ToolCall):
        parts[0]["functionCall"] = {"id": part.id, **parts[0]["functionCall"]}
    return parts


def with_call_ids(parts: Iterable[Part], response_id: str) -> Iterable[Part]:
    """`parts` with generated ids for calls that have none."""
    for index, part in enumerate(parts):
        if isinstance(part, ToolCall) and not part.id:
            yield replace(part, id=ids.generated("call_", response_id, index))
        else:
            yield part


def read_stop(top: Json, candidate: Json, *, calls: bool) -> StopReason:
    """The canonical stop reason; a blocked prompt has no candidate at all."""
    if maybe_object(top, "promptFeedback").get("blockReason"):
        return StopReason.REFUSAL
    return stop_reason(maybe_string(candidate, "finishReason"), _STOPS, calls=calls)


def write_stop(stop: StopReason) -> str:
    """The dialect's stop reason."""
    return _STOP_WORDS.get(stop, "STOP")


def read_usage(data: Json) -> Usage:
    """Token counts. The candidates' count excludes thoughts; the canonical count includes them."""
    prompt, candidates = maybe_count(data, "promptTokenCount"), maybe_count(data, "candidatesTokenCount")
    tools, thoughts = maybe_count(data, "toolUsePromptTokenCount"), maybe_count(data, "thoughtsTokenCount")
    return Usage(
        input=None if prompt is None else prompt + (tools or 0),
        output=None if candidates is None and thoughts is None else (candidates or 0) + (thoughts or 0),
        cache_read=maybe_count(data, "cachedContentTokenCount"),
        reasoning=thoughts,
    )


def write_usage(usage: Usage) -> Json:
    """The same in this dialect, which can't express unknown counts."""
    prompt, candidates, thoughts = usage.input or 0, usage.output or 0, usage.reasoning or 0
    data: Json = {"promptTokenCount": prompt, "candidatesTokenCount": max(0, candidates - thoughts)}
    data["totalTokenCount"] = prompt + candidates
    if usage.cache_read is not None:
        data["cachedContentTokenCount"] = usage.cache_read
    if usage.reasoning is not None:
        data["thoughtsTokenCount"] = usage.reasoning
    return data


_ERROR_STATUS: dict[ErrorReason, str] = {
    "rate_limit": "RESOURCE_EXHAUSTED",
    "auth": "UNAUTHENTICATED",
    "bad_request": "INVALID_ARGUMENT",
    "cassette": "INVALID_ARGUMENT",
    "prefix": "INVALID_ARGUMENT",
    "overloaded": "UNAVAILABLE",
    "stalled": "DEADLINE_EXCEEDED",
    "budget": "FAILED_PRECONDITION",
}


def error_body(error: ProviderError) -> Json:
    """The body of an error response."""
    status = _ERROR_STATUS.get(error.reason, "INTERNAL")
    return {"error": {"code": status_of(error), "message": error.message, "status": status}}


def write_error(error: ProviderError) -> WireFormat:
    """An error response for Google's clients."""
    return WireFormat(body=to_json(error_body(error)), status=status_of(error))
