"""Items of the Responses format: what a conversation and an answer consist of."""

from __future__ import annotations

from typing import Any

from demeanor.core.messages import Document, Extra, Image, Opaque, Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.json_reader import Json, items, leftover, mapping, maybe_string, own, string
from demeanor.gateway.dialects.openai_responses.content import NAME, read_content, write_content
from demeanor.gateway.dialects.strict_json import arguments, compact

WHOLE = f"{NAME}.whole"
"""Under this name the extra of a call or result of a built-in tool keeps all of the item."""

_CALL = frozenset({"type", "call_id", "name", "arguments"})
_CUSTOM = frozenset({"call_id", "name", "input"})
_REASONING = frozenset({"type", "id", "summary", "encrypted_content"})


def read_call(data: Json) -> ToolCall:
    """A call of a function, of a tool that takes plain text, or of a built-in tool that the client runs."""
    kind = maybe_string(data, "type")
    given = maybe_string(data, "call_id") or maybe_string(data, "id") or ""
    name = maybe_string(data, "name") or str(kind).removesuffix("_call")
    if kind == "function_call":
        raw = maybe_string(data, "arguments") or ""
        extra = {NAME: leftover(data, _CALL)}
        return ToolCall(id=given, name=name, arguments=arguments(raw), raw=raw, extra=extra)
    if kind == "custom_tool_call":
        typed: Json = {"input": string(data, "input")}
        extra = {NAME: {key: value for key, value in data.items() if key not in _CUSTOM}}
    else:
        typed = data.get("action") or data.get("operation") or {}
        typed = typed if isinstance(typed, dict) else {"action": typed}
        extra = {NAME: {}, WHOLE: data}
    return ToolCall(id=given, name=name, arguments=typed, raw=compact(typed), extra=extra)


def write_call(call: ToolCall, *, custom: bool = False) -> Json:
    """The same."""
    extra = own(call.extra, NAME)
    if WHOLE in call.extra:
        return dict(call.extra[WHOLE])
    given = ids.for_responses(call.id)
    if custom or extra.get("type") == "custom_tool_call":
        typed = (call.arguments or {}).get("input")
        text = typed if isinstance(typed, str) else call.raw
        return {"type": "custom_tool_call", **extra, "call_id": given, "name": call.name, "input": text}
    spelled = call.raw or extra.get("arguments", compact(call.arguments or {}))
    return {"type": "function_call", **extra, "call_id": given, "name": call.name, "arguments": spelled}


def read_result(data: Json) -> ToolResult:
    """What a tool put out."""
    output = data.get("output")
    extra: dict[str, Any] = {NAME: {key: data[key] for key in data if key not in {"call_id", "output"}}}
    plain = isinstance(output, str | list)
    content = read_content(data, "output") if plain else (Text(text=compact(output)),)
    parts = tuple(part for part in content if isinstance(part, Text | Image | Document))
    if not plain or not output or len(parts) < len(content):
        extra[WHOLE] = data
    return ToolResult(call_id=maybe_string(data, "call_id") or "", parts=parts, extra=extra)


def write_result(result: ToolResult) -> Json:
    """The same."""
    if WHOLE in result.extra:
        return dict(result.extra[WHOLE])
    told: Json = {"type": "function_call_output", **own(result.extra, NAME)}
    told["call_id"] = ids.for_responses(result.call_id)
    told["output"] = write_content(result.parts, kind="input_text", glue="\n")
    return told


def read_reasoning(data: Json) -> Thinking:
    """Reasoning: summaries for people, and encrypted content for the model."""
    summaries = [mapping(entry, "summary") for entry in items(data, "summary")]
    content = [mapping(entry, "content") for entry in items(data, "content")]
    texts = tuple(string(entry, "text") for entry in summaries)
    thought = "".join(string(entry, "text") for entry in content)
    fields = leftover(data, _REASONING)
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
    """The same. A readable thought of another provider is told as a summary, for that is what clients send back."""
    told: Json = {"type": "reasoning", "summary": [], **own(thought.extra, NAME)}
    summaries = list(thought.summary)
    if NAME not in thought.extra and thought.text:
        summaries.append(thought.text)
    if NAME in thought.extra and thought.text and "content" not in told:
        told["content"] = [reasoning_text(thought.text)]
    if summaries and not told["summary"]:
        told["summary"] = [summary_text(text) for text in summaries]
    if thought.id is not None:
        told["id"] = thought.id
    token = thought.encrypted or thought.signature
    if token:
        told["encrypted_content"] = token
    return told


def sealed_item(signature: str, given: str) -> Json:
    """The signature of another provider's call, as reasoning that stands before the call."""
    return {"type": "reasoning", "id": ids.made("rs_", given), "summary": [], "encrypted_content": signature}


def summary_text(text: str) -> Json:
    """One summary."""
    return {"type": "summary_text", "text": text}


def reasoning_text(text: str) -> Json:
    """One readable thought."""
    return {"type": "reasoning_text", "text": text}


def is_call(data: Json) -> bool:
    """Whether an item is a call that the client answers."""
    kind = maybe_string(data, "type")
    return kind == "function_call" or (
        isinstance(kind, str) and kind.endswith("_call") and isinstance(data.get("call_id"), str)
    )


def is_result(data: Json) -> bool:
    """Whether an item is what a client's tool put out."""
    kind = maybe_string(data, "type")
    return isinstance(kind, str) and kind.endswith("_call_output") and isinstance(data.get("call_id"), str)


def opaque(data: Json) -> Opaque:
    """An item that the canon has no word for."""
    extra: Extra = {NAME: data}
    return Opaque(extra=extra)
