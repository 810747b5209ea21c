"""Parts of the Gemini format."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from demeanor.core.messages import Document, Extra, Image, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects.gemini.key_case import camel, respelled, spelling
from demeanor.gateway.dialects.gemini.signatures import seal, unseal
from demeanor.gateway.dialects.json_reader import Json, inner, items, mapping, maybe_string, own
from demeanor.gateway.dialects.strict_json import compact
from demeanor.gateway.dialects.tool_arguments import as_object, from_object

NAME = "gemini"
KEY = f"{NAME}.key"
"""Under this name a ToolResult's extra tells the key of its only field, where it is not the usual one."""

_THOUGHT = frozenset({"text", "thoughtSignature"})
_CALL = frozenset({"functionCall", "thoughtSignature"})
_FUNCTION_CALL = frozenset({"name", "args"})
_FUNCTION_RESPONSE = frozenset({"name", "response", "parts"})
_BLOB = frozenset({"mimeType", "data", "fileUri"})
_NESTED = frozenset({"inlineData", "fileData", "functionResponse", "inline_data", "file_data", "function_response"})
_OUTPUTS = ("output", "result", "content")


def read_part(data: Json) -> Part:
    """One part. A call without an id, and a result, are given theirs by whoever knows the conversation."""
    if not _underscored(data):
        return _read_part(data)
    found = _read_part(camel(data))
    odd = spelling(data, *(value for key, value in data.items() if key in _NESTED))
    return replace(found, extra={**found.extra, **odd})


def _underscored(data: Json) -> bool:
    for key, value in data.items():
        if "_" in key or (key in _NESTED and value.__class__ is dict and any("_" in name for name in value)):
            return True
    return False


def _read_part(data: Json) -> Part:
    signature = maybe_string(data, "thoughtSignature")
    if data.get("thought") is True and "functionCall" not in data:
        text = maybe_string(data, "text") or ""
        return Thinking(text=text, signature=unseal(signature) if signature else None, extra=_kept(data, _THOUGHT))
    if isinstance(data.get("text"), str):
        return Text(text=data["text"], extra=_kept(data, frozenset({"text"})) if len(data) > 1 else {})
    if "functionCall" in data:
        return _read_call(data, unseal(signature) if signature else None)
    if "functionResponse" in data:
        return _read_result(data)
    for key in ("inlineData", "fileData"):
        if key in data:
            return _read_blob(data, key)
    return Opaque(extra={NAME: data})


def write_part(part: Part) -> list[Json]:
    """The parts that tell one of ours."""
    return [respelled(told, part.extra) for told in _write_part(part)]


def _write_part(part: Part) -> list[Json]:
    extra = own(part.extra, NAME)
    if isinstance(part, Text):
        return [{**extra, "text": part.text}]
    if isinstance(part, Thinking):
        return _write_thought(part, extra)
    if isinstance(part, ToolCall):
        return [_write_call(part, extra)]
    if isinstance(part, ToolResult):
        return [_write_result(part, extra)]
    if isinstance(part, Opaque):
        return [extra] if extra else []
    if isinstance(part, Document) and part.text is not None:
        return [{"text": part.text}]
    return [_write_blob(part, extra)]


def write_user(parts: Iterable[Part]) -> list[Json]:
    """What a user says: pictures in a tool's result come directly behind the results."""
    told: list[Json] = []
    pictures: list[Part] = []
    for part in parts:
        if isinstance(part, ToolResult):
            pictures += (inside for inside in part.parts if _must_move(inside))
        else:
            told += (item for picture in pictures for item in write_part(picture))
            pictures = []
        told += write_part(part)
    return told + [item for picture in pictures for item in write_part(picture)]


def sealed(part: Part) -> Part:
    """A part of another provider's answer, with its signatures in an envelope."""
    if isinstance(part, Thinking) and (part.signature or part.encrypted):
        return Thinking(text=part.text, summary=part.summary, signature=seal(part.signature or part.encrypted or ""))
    return part


def _read_call(data: Json, signature: str | None) -> ToolCall:
    call = inner(data, "functionCall")
    given, raw = from_object(call.get("args"))
    extra = {key: value for key, value in data.items() if key not in _CALL}
    odd = {key: value for key, value in call.items() if key not in _FUNCTION_CALL or value is None}
    if odd:
        extra["functionCall"] = odd
    if "args" not in call:
        extra["functionCall"] = {**odd, "args": None}
    return ToolCall(
        id=maybe_string(call, "id") or "",
        name=maybe_string(call, "name") or "",
        arguments=given,
        raw=raw,
        signature=signature,
        extra={NAME: extra} if extra else {},
    )


def _write_call(call: ToolCall, extra: Json) -> Json:
    odd = dict(extra.get("functionCall", {}))
    function: Json = {"name": call.name, "args": as_object(call), **odd}
    if function["args"] is None:
        del function["args"]
    told = {**extra, "functionCall": function}
    if call.signature:
        told["thoughtSignature"] = call.signature
    return told


def _read_result(data: Json) -> ToolResult:
    told = inner(data, "functionResponse")
    response = told.get("response")
    extra: dict[str, Any] = {key: value for key, value in data.items() if key != "functionResponse"}
    odd = {key: value for key, value in told.items() if key not in _FUNCTION_RESPONSE or not value}
    key = next(iter(response)) if isinstance(response, dict) and len(response) == 1 else None
    output = response[key] if isinstance(response, dict) and key is not None else None
    kept: dict[str, Any] = {}
    if isinstance(output, str) and key in {"error", *_OUTPUTS}:
        parts: list[Text | Image | Document] = [Text(text=output)]
        if key not in {"error", "output"}:
            kept[KEY] = key
    else:
        parts = [Text(text=compact(response))] if response else []
        if response:
            odd["response"] = response
    for piece in items(told, "parts"):
        found = read_part(mapping(piece, "functionResponse.parts"))
        if isinstance(found, Image | Document):
            parts.append(found)
    if odd:
        extra["functionResponse"] = odd
    if extra:
        kept[NAME] = extra
    return ToolResult(
        call_id=maybe_string(told, "id") or "",
        name=maybe_string(told, "name"),
        parts=tuple(parts),
        is_error=True if key == "error" else None,
        extra=kept,
    )


def _write_result(result: ToolResult, extra: Json) -> Json:
    key = result.extra.get(KEY, "error" if result.is_error else "output")
    function: Json = {"name": result.name or result.call_id, "response": {key: result.text}}
    function.update(extra.get("functionResponse", {}))
    pieces = [
        item
        for part in result.parts
        if not _must_move(part) and not isinstance(part, Text)
        for item in write_part(part)
    ]
    if pieces:
        function["parts"] = pieces
    return {**extra, "functionResponse": function}


def _must_move(part: Part) -> bool:
    return isinstance(part, Image | Document) and NAME not in part.extra


def _read_blob(data: Json, key: str) -> Image | Document:
    blob = camel(inner(data, key))
    media, content, url = maybe_string(blob, "mimeType"), maybe_string(blob, "data"), maybe_string(blob, "fileUri")
    odd = {name: value for name, value in blob.items() if name not in _BLOB or value is None}
    extra: Extra = {NAME: {**{name: value for name, value in data.items() if name != key}, key: odd}}
    if (media or "").startswith("image/"):
        return Image(media_type=media, data=content, url=url, extra=extra)
    return Document(media_type=media, data=content, url=url, name=maybe_string(blob, "displayName"), extra=extra)


def _write_blob(part: Image | Document, extra: Json) -> Json:
    key = "inlineData" if "inlineData" in extra or part.data is not None else "fileData"
    media = part.media_type or ("image/png" if isinstance(part, Image) else None)
    fields = {"mimeType": media, "data": part.data, "fileUri": part.url}
    told = {name: value for name, value in fields.items() if value is not None}
    return {**extra, key: {**told, **extra.get(key, {})}}


def _write_thought(thought: Thinking, extra: Json) -> list[Json]:
    told: Json = {"thought": True, **extra, "text": thought.text or "\n\n".join(thought.summary)}
    token = thought.signature or thought.encrypted
    if token:
        told["thoughtSignature"] = token
    return [told] if token or told["text"] or extra else []


def _kept(data: Json, known: frozenset[str]) -> Extra:
    return {NAME: {key: value for key, value in data.items() if key not in known}}
