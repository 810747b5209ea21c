"""Parts of the Gemini dialect, and the encoding of other providers' signatures.

A thought signature is base64 here, and a client may return the same bytes in another base64 alphabet. Signatures of
other providers are text that must come back unchanged, so they are wrapped in base64 with a prefix.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from demeanor.core.values.messages import Document, Extra, Image, Opaque, Part, Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects.conversions import arguments_object, read_arguments_object
from demeanor.gateway.dialects.gemini.key_case import original_case, restore_case, to_camel_case
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_list,
    maybe_object,
    maybe_string,
    own_fields,
    require_object,
    unknown_fields,
)
from demeanor.gateway.dialects.strict_json import compact

NAME = "gemini"
KEY = f"{NAME}.key"
"""The key of `extra` under which a ToolResult stores the name of its only field, if it is not the usual one."""

_THINKING = frozenset({"text", "thoughtSignature"})
_CALL = frozenset({"functionCall", "thoughtSignature"})
_FUNCTION_CALL = frozenset({"name", "args"})
_FUNCTION_RESPONSE = frozenset({"name", "response", "parts"})
_BLOB = frozenset({"mimeType", "data", "fileUri"})
_NESTED = frozenset({"inlineData", "fileData", "functionResponse", "inline_data", "file_data", "function_response"})
_OUTPUTS = ("output", "result", "content")
_WRAPPED = b"demeanor:"


def read_part(data: Json) -> Part:
    """Read one part. Calls without an id, and results, get their ids later, from the whole conversation."""
    if not _has_snake_case(data):
        return _read_part(data)
    part = _read_part(to_camel_case(data))
    unknown = original_case(data, *(value for key, value in data.items() if key in _NESTED))
    return replace(part, extra={**part.extra, **unknown})


def _has_snake_case(data: Json) -> bool:
    for key, value in data.items():
        if "_" in key or (key in _NESTED and value.__class__ is dict and any("_" in name for name in value)):
            return True
    return False


def _read_part(data: Json) -> Part:
    signature = maybe_string(data, "thoughtSignature")
    if data.get("thought") is True and "functionCall" not in data:
        text = maybe_string(data, "text") or ""
        return Thinking(
            text=text, signature=unwrap_signature(signature) if signature else None, extra=_extra(data, _THINKING)
        )
    if isinstance(data.get("text"), str):
        return Text(text=data["text"], extra=_extra(data, frozenset({"text"})) if len(data) > 1 else {})
    if "functionCall" in data:
        return _read_call(data, unwrap_signature(signature) if signature else None)
    if "functionResponse" in data:
        return _read_result(data)
    for key in ("inlineData", "fileData"):
        if key in data:
            return _read_blob(data, key)
    return Opaque(extra={NAME: data})


def write_part(part: Part) -> list[Json]:
    """The Gemini parts for one canonical part."""
    return [restore_case(output, part.extra) for output in _write_part(part)]


def _write_part(part: Part) -> list[Json]:
    extra = own_fields(part.extra, NAME)
    if isinstance(part, Text):
        return [{**extra, "text": part.text}]
    if isinstance(part, Thinking):
        return _write_thinking(part, extra)
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
    """The parts of a user message: pictures in a tool result come directly after the results."""
    output: list[Json] = []
    pictures: list[Part] = []
    for part in parts:
        if isinstance(part, ToolResult):
            pictures += (inside for inside in part.parts if _must_follow_result(inside))
        else:
            output += (item for picture in pictures for item in write_part(picture))
            pictures = []
        output += write_part(part)
    return output + [item for picture in pictures for item in write_part(picture)]


def with_wrapped_signature(part: Part) -> Part:
    """A part of another provider's response with its signature wrapped."""
    if isinstance(part, Thinking) and (part.signature or part.encrypted):
        return Thinking(
            text=part.text, summary=part.summary, signature=wrap_signature(part.signature or part.encrypted or "")
        )
    return part


def _read_call(data: Json, signature: str | None) -> ToolCall:
    call = maybe_object(data, "functionCall")
    arguments, raw = read_arguments_object(call.get("args"))
    extra = {key: value for key, value in data.items() if key not in _CALL}
    unknown = {key: value for key, value in call.items() if key not in _FUNCTION_CALL or value is None}
    if unknown:
        extra["functionCall"] = unknown
    if "args" not in call:
        extra["functionCall"] = {**unknown, "args": None}
    return ToolCall(
        id=maybe_string(call, "id") or "",
        name=maybe_string(call, "name") or "",
        arguments=arguments,
        raw=raw,
        signature=signature,
        extra={NAME: extra} if extra else {},
    )


def _write_call(call: ToolCall, extra: Json) -> Json:
    unknown = dict(extra.get("functionCall", {}))
    function: Json = {"name": call.name, "args": arguments_object(call), **unknown}
    if function["args"] is None:
        del function["args"]
    output = {**extra, "functionCall": function}
    if call.signature:
        output["thoughtSignature"] = call.signature
    return output


def _read_result(data: Json) -> ToolResult:
    function = maybe_object(data, "functionResponse")
    response = function.get("response")
    extra: dict[str, Any] = {key: value for key, value in data.items() if key != "functionResponse"}
    unknown = {key: value for key, value in function.items() if key not in _FUNCTION_RESPONSE or not value}
    key = next(iter(response)) if isinstance(response, dict) and len(response) == 1 else None
    text = response[key] if isinstance(response, dict) and key is not None else None
    extra_values: dict[str, Any] = {}
    if isinstance(text, str) and key in {"error", *_OUTPUTS}:
        parts: list[Text | Image | Document] = [Text(text=text)]
        if key not in {"error", "output"}:
            extra_values[KEY] = key
    else:
        parts = [Text(text=compact(response))] if response else []
        if response:
            unknown["response"] = response
    for piece in maybe_list(function, "parts"):
        part = read_part(require_object(piece, "functionResponse.parts"))
        if isinstance(part, Image | Document):
            parts.append(part)
    if unknown:
        extra["functionResponse"] = unknown
    if extra:
        extra_values[NAME] = extra
    return ToolResult(
        call_id=maybe_string(function, "id") or "",
        name=maybe_string(function, "name"),
        parts=tuple(parts),
        is_error=True if key == "error" else None,
        extra=extra_values,
    )


def _write_result(result: ToolResult, extra: Json) -> Json:
    key = result.extra.get(KEY, "error" if result.is_error else "output")
    function: Json = {"name": result.name or result.call_id, "response": {key: result.text}}
    function.update(extra.get("functionResponse", {}))
    pieces = [
        item
        for part in result.parts
        if not _must_follow_result(part) and not isinstance(part, Text)
        for item in write_part(part)
    ]
    if pieces:
        function["parts"] = pieces
    return {**extra, "functionResponse": function}


def _must_follow_result(part: Part) -> bool:
    return isinstance(part, Image | Document) and NAME not in part.extra


def _read_blob(data: Json, key: str) -> Image | Document:
    blob = to_camel_case(maybe_object(data, key))
    media, content, url = maybe_string(blob, "mimeType"), maybe_string(blob, "data"), maybe_string(blob, "fileUri")
    unknown = {name: value for name, value in blob.items() if name not in _BLOB or value is None}
    extra: Extra = {NAME: {**{name: value for name, value in data.items() if name != key}, key: unknown}}
    if (media or "").startswith("image/"):
        return Image(media_type=media, data=content, url=url, extra=extra)
    return Document(media_type=media, data=content, url=url, name=maybe_string(blob, "displayName"), extra=extra)


def _write_blob(part: Image | Document, extra: Json) -> Json:
    key = "inlineData" if "inlineData" in extra or part.data is not None else "fileData"
    media = part.media_type or ("image/png" if isinstance(part, Image) else None)
    fields = {"mimeType": media, "data": part.data, "fileUri": part.url}
    output = {name: value for name, value in fields.items() if value is not None}
    return {**extra, key: {**output, **extra.get(key, {})}}


def _write_thinking(thinking: Thinking, extra: Json) -> list[Json]:
    output: Json = {"thought": True, **extra, "text": thinking.text or "\n\n".join(thinking.summary)}
    token = thinking.signature or thinking.encrypted
    if token:
        output["thoughtSignature"] = token
    return [output] if token or output["text"] or extra else []


def _extra(data: Json, names: frozenset[str]) -> Extra:
    return unknown_fields(NAME, data, names)


def wrap_signature(token: str) -> str:
    """Another provider's signature as a thought signature."""
    return base64.b64encode(_WRAPPED + token.encode("utf-8", "replace")).decode("ascii")


def unwrap_signature(signature: str) -> str:
    """The signature that was wrapped, or the thought signature itself."""
    plain = signature.replace("-", "+").replace("_", "/")
    try:
        content = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
        return content.removeprefix(_WRAPPED).decode("utf-8") if content.startswith(_WRAPPED) else signature
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return signature
