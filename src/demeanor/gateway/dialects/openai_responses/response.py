"""Complete responses of the Responses dialect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from demeanor.core.values.exchange import Request, Response, StopReason, Usage
from demeanor.core.values.messages import Opaque, Part, Text, Thinking, Tool, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.conversions import is_refusal
from demeanor.gateway.dialects.dialect import WireFormat
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
from demeanor.gateway.dialects.openai_responses.content import NAME, read_part, write_part
from demeanor.gateway.dialects.openai_responses.items import (
    is_call,
    opaque,
    read_call,
    read_reasoning,
    signature_item,
    write_call,
    write_reasoning,
)
from demeanor.gateway.dialects.openai_responses.tools import is_custom, tools_by_name, with_own_name

ITEM = f"{NAME}.item"
"""The key of `extra` under which a part stores the fields of its message item."""

_INCOMPLETE_REASONS = {"max_output_tokens": StopReason.LENGTH, "content_filter": StopReason.REFUSAL}
_STOP_WORDS = {StopReason.LENGTH: "max_output_tokens", StopReason.REFUSAL: "content_filter"}


def read_response(body: bytes) -> Response:
    """Read a provider's response that is not streamed."""
    top = parse_object(body)
    require_list(top, "output")
    parts = tuple(part for item in read_each(top, "output", read_item) for part in item)
    return Response(
        parts=parts,
        stop=read_stop(top, parts),
        usage=read_usage(maybe_object(top, "usage")),
        id=maybe_string(top, "id"),
        model=maybe_string(top, "model"),
        extra={NAME: {key: value for key, value in top.items() if key != "output"}},
    )


def write_response(response: Response, request: Request) -> WireFormat:
    """Write a response for the client."""
    response_id = response.id or ids.generated("resp_", response.text, *(call.id for call in response.calls))
    fields = own_fields(response.extra, NAME)
    top: Json = dict(fields) if fields else new_response(response_id, response.model or request.model)
    top["output"] = list(write_items(response.parts, response_id, tools_by_name(request.tools)))
    if response.id is not None:
        top["id"] = response.id
    if not fields or read_stop(top, response.parts) != response.stop:
        top.update(write_stop(response.stop, response.parts))
    if read_usage(maybe_object(top, "usage")) != response.usage or not fields:
        top["usage"] = write_usage(response.usage)
    return WireFormat(body=to_json(top))


def new_response(response_id: str, model: str) -> Json:
    """The fields of a response that has just started."""
    return {
        "id": response_id,
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
        return [_in_item(part, item) for part in read_each(data, "content", read_part)]
    if kind == "reasoning":
        return [read_reasoning(data)]
    return [read_call(data) if is_call(data) else opaque(data)]


def write_items(parts: tuple[Part, ...], response_id: str, tools: Mapping[str, Tool]) -> Iterator[Json]:
    """The items for `parts`; texts from one message item are written as one again."""
    message: Json | None = None
    for index, part in enumerate(parts):
        item = part.extra.get(ITEM)
        if message is not None and (item is None or item.get("id") != message.get("id")):
            yield message
            message = None
        if item is not None:
            message = message or {**item, "content": []}
            item_part = write_part(part, kind="output_text")
            message["content"] += [item_part] if item_part else []
        else:
            yield from write_item(part, ids.digest(response_id, index), tools)
    if message is not None:
        yield message


def write_item(part: Part, seed: str, tools: Mapping[str, Tool]) -> Iterator[Json]:
    """The items for one part of another provider's response."""
    if isinstance(part, Text):
        yield message_item(f"msg_{seed}", new_text(part))
    elif isinstance(part, Thinking):
        yield {"id": f"rs_{seed}", **write_reasoning(part)}
    elif isinstance(part, ToolCall):
        if part.signature:
            yield signature_item(part.signature, seed)
        yield call_item(part, tools)
    elif isinstance(part, Opaque) and NAME in part.extra:
        yield own_fields(part.extra, NAME)


def message_item(response_id: str, text: Json | None) -> Json:
    """A message with one text, or one that has just started."""
    content = [text] if text else []
    status = "completed" if text else "in_progress"
    return {"id": response_id, "type": "message", "role": "assistant", "status": status, "content": content}


def new_text(part: Text) -> Json:
    """One text, or one refusal."""
    if is_refusal(part):
        return {"type": "refusal", "refusal": part.text}
    return {"type": "output_text", "annotations": [], "logprobs": [], "text": part.text}


def call_item(call: ToolCall, tools: Mapping[str, Tool]) -> Json:
    """A call in a response, which needs an item id."""
    if NAME in call.extra:
        return write_call(call)
    tool = tools.get(call.name)
    call = with_own_name(call, tool)
    if is_custom(tool):
        return {"id": ids.item_id("ctc_", call.id), **write_call(call, custom=True)}
    return {"id": ids.item_id("fc_", call.id), **write_call(call), "status": "completed"}


def read_stop(top: Json, parts: Iterable[Part]) -> StopReason:
    """The canonical stop reason; a completed response may be a refusal."""
    status = maybe_string(top, "status")
    if status == "incomplete":
        return _INCOMPLETE_REASONS.get(
            maybe_string(maybe_object(top, "incomplete_details"), "reason") or "", StopReason.UNKNOWN
        )
    if status == "failed":
        return StopReason.ERROR
    if status != "completed":
        return StopReason.UNKNOWN
    all_parts = tuple(parts)
    if any(isinstance(part, ToolCall) for part in all_parts):
        return StopReason.TOOL_USE
    return StopReason.REFUSAL if any(map(is_refusal, all_parts)) else StopReason.END


def write_stop(stop: StopReason, parts: Iterable[Part]) -> Json:
    """The dialect's status and reason."""
    if stop in _STOP_WORDS and not any(map(is_refusal, parts)):
        return {"status": "incomplete", "incomplete_details": {"reason": _STOP_WORDS[stop]}}
    if stop is StopReason.ERROR:
        return {"status": "failed", "error": {"code": "server_error", "message": "the response ended with an error"}}
    return {"status": "completed"}


def read_usage(data: Json) -> Usage:
    """Token counts; cached and reasoning tokens are included in input and output, as in the canonical form."""
    input_details, output_details = (
        maybe_object(data, "input_tokens_details"),
        maybe_object(data, "output_tokens_details"),
    )
    return Usage(
        input=maybe_count(data, "input_tokens"),
        output=maybe_count(data, "output_tokens"),
        cache_read=maybe_count(input_details, "cached_tokens"),
        cache_write=maybe_count(input_details, "cache_write_tokens"),
        reasoning=maybe_count(output_details, "reasoning_tokens"),
    )


def write_usage(usage: Usage) -> Json:
    """The same in this dialect, which can't express unknown counts."""
    input_tokens, output_tokens = usage.input or 0, usage.output or 0
    details: Json = {"cached_tokens": usage.cache_read or 0}
    if usage.cache_write is not None:
        details["cache_write_tokens"] = usage.cache_write
    return {
        "input_tokens": input_tokens,
        "input_tokens_details": details,
        "output_tokens": output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning or 0},
        "total_tokens": input_tokens + output_tokens,
    }


def _in_item(part: Part, item: Json) -> Part:
    extra: dict[str, Any] = {**part.extra, ITEM: item}
    return Text(text=part.text, extra=extra) if isinstance(part, Text) else Opaque(extra=extra)
