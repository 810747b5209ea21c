"""Items of the Responses dialect: the elements of a conversation and a response."""

from __future__ import annotations

from typing import Any

from demeanor.core.values.messages import Document, Extra, Image, Opaque, Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.json_reader import (
    Json,
    extra_fields,
    maybe_list,
    maybe_string,
    own_fields,
    require_object,
    string,
)
from demeanor.gateway.dialects.openai_responses.content import NAME, read_content, write_content
from demeanor.gateway.dialects.openai_responses.tools import call_names, written_names
from demeanor.gateway.dialects.strict_json import arguments, compact

WHOLE = f"{NAME}.whole"
"""The key of `extra` under which a call or result of a built-in tool stores the whole item."""

_CALL = frozenset({"type", "call_id", "name", "arguments"})
_CUSTOM = frozenset({"call_id", "name", "input"})
_REASONING = frozenset({"type", "id", "summary", "encrypted_content"})


def read_call(data: Json) -> ToolCall:
    """Read a call of a function, of a tool that takes plain text, or of a built-in tool that the client runs."""
    kind = maybe_string(data, "type")
    call_id = maybe_string(data, "call_id") or maybe_string(data, "id") or ""
    name, names = call_names(data)
    name = name or str(kind).removesuffix("_call")
    if kind == "function_call":
        raw = maybe_string(data, "arguments") or ""
        extra = {NAME: extra_fields(data, _CALL), **names}
        return ToolCall(id=call_id, name=name, arguments=arguments(raw), raw=raw, extra=extra)
    if kind == "custom_tool_call":
        values: Json = {"input": string(data, "input")}
        extra = {NAME: {key: value for key, value in data.items() if key not in _CUSTOM}, **names}
    else:
        values = data.get("action") or data.get("operation") or {}
        values = values if isinstance(values, dict) else {"action": values}
        extra = {NAME: {}, WHOLE: data}
    return ToolCall(id=call_id, name=name, arguments=values, raw=compact(values), extra=extra)


def write_call(call: ToolCall, *, custom: bool = False) -> Json:
    """Write a call."""
    extra = own_fields(call.extra, NAME)
    if WHOLE in call.extra:
        return dict(call.extra[WHOLE])
    call_id = ids.for_responses(call.id)
    if custom or extra.get("type") == "custom_tool_call":
        values = (call.arguments or {}).get("input")
        text = values if isinstance(values, str) else call.raw
        return {"type": "custom_tool_call", **extra, "call_id": call_id, **written_names(call), "input": text}
    text_arguments = call.raw or extra.get("arguments", compact(call.arguments or {}))
    return {"type": "function_call", **extra, "call_id": call_id, **written_names(call), "arguments": text_arguments}


def read_result(data: Json) -> ToolResult:
    """Read a tool's output."""
    output = data.get("output")
    extra: dict[str, Any] = {NAME: {key: data[key] for key in data if key not in {"call_id", "output"}}}
    plain = isinstance(output, str | list)
    content = read_content(data, "output") if plain else (Text(text=compact(output)),)
    parts = tuple(part for part in content if isinstance(part, Text | Image | Document))
    if not plain or not output or len(parts) < len(content):
        extra[WHOLE] = data
    return ToolResult(call_id=maybe_string(data, "call_id") or "", parts=parts, extra=extra)


def write_result(result: ToolResult) -> Json:
    """Write a tool's output."""
    if WHOLE in result.extra:
        return dict(result.extra[WHOLE])
    item: Json = {"type": "function_call_output", **own_fields(result.extra, NAME)}
    item["call_id"] = ids.for_responses(result.call_id)
    item["output"] = write_content(result.parts, kind="input_text", separator="\n")
    return item


def read_reasoning(data: Json) -> Thinking:
    """Read reasoning: summaries for the user, and encrypted content for the model."""
    summaries = [require_object(entry, "summary") for entry in maybe_list(data, "summary")]
    content = [require_object(entry, "content") for entry in maybe_list(data, "content")]
    texts = tuple(string(entry, "text") for entry in summaries)
    thought = "".join(string(entry, "text") for entry in content)
    fields = extra_fields(data, _REASONING)
    if any(entry != summary_text(text) for entry, text in zip(summaries, texts, strict=True)):
        fields["summary"] = data["summary"]
    if content == [reasoning_text(thought)]:
        del fields["content"]
    return Thinking(
        text=thought,
        encrypted=maybe_string(data, "encrypted_content"),
        summary=texts,
        id=maybe_string(data, "id"),
        extra={NAME: fields},
    )


def write_reasoning(thought: Thinking) -> Json:
    """Write reasoning. Another provider's readable thought becomes a summary, because clients send summaries back."""
    item: Json = {"type": "reasoning", "summary": [], **own_fields(thought.extra, NAME)}
    summaries = list(thought.summary)
    if NAME not in thought.extra and thought.text:
        summaries.append(thought.text)
    if NAME in thought.extra and thought.text and "content" not in item:
        item["content"] = [reasoning_text(thought.text)]
    if summaries and not item["summary"]:
        item["summary"] = [summary_text(text) for text in summaries]
    if thought.id is not None:
        item["id"] = thought.id
    token = thought.encrypted or thought.signature
    if token:
        item["encrypted_content"] = token
    return item


def signature_item(signature: str, call_id: str) -> Json:
    """The signature of another provider's call, as a reasoning item before the call."""
    return {"type": "reasoning", "id": ids.generated("rs_", call_id), "summary": [], "encrypted_content": signature}


def summary_text(text: str) -> Json:
    """One summary."""
    return {"type": "summary_text", "text": text}


def reasoning_text(text: str) -> Json:
    """One readable thought."""
    return {"type": "reasoning_text", "text": text}


def is_call(data: Json) -> bool:
    """Whether an item is a call that the client has to answer."""
    kind = maybe_string(data, "type")
    return kind == "function_call" or (
        isinstance(kind, str) and kind.endswith("_call") and isinstance(data.get("call_id"), str)
    )


def is_result(data: Json) -> bool:
    """Whether an item is the output of a client's tool."""
    kind = maybe_string(data, "type")
    return isinstance(kind, str) and kind.endswith("_call_output") and isinstance(data.get("call_id"), str)


def opaque(data: Json) -> Opaque:
    """An item without a canonical form."""
    extra: Extra = {NAME: data}
    return Opaque(extra=extra)
