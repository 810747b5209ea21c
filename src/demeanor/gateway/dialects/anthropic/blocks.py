"""Content blocks of the Anthropic dialect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from demeanor.core.values.messages import (
    Cache,
    Document,
    Extra,
    Image,
    Opaque,
    Part,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.conversions import arguments_object, read_arguments_object
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_flag,
    maybe_object,
    maybe_string,
    own_fields,
    read_each,
    reject,
    string,
    unknown_fields,
)

NAME = "anthropic"
_LISTED: Extra = {NAME: {}}
_TEXT = frozenset({"type", "text"})
_THINKING = frozenset({"type", "thinking", "signature", "data"})
_MEDIA = frozenset({"type", "source", "title"})
_CALL = frozenset({"type", "id", "name", "input"})
_RESULT = frozenset({"type", "tool_use_id", "content", "is_error"})
_SOURCE = frozenset({"type", "media_type", "data", "url"})


def read_content(data: Json) -> tuple[Part, ...]:
    """The content of a message: text, or a list of blocks."""
    content = data.get("content")
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    return read_each(data, "content", read_block) if content else ()


def read_block(data: Json) -> Part:
    """One block."""
    kind = maybe_string(data, "type")
    if kind == "text":
        extra = _LISTED if len(data) == 2 else _extra(data, _TEXT)
        return Text(text=string(data, "text"), cache=_cache(data), extra=extra)
    if kind == "tool_use":
        return _read_call(data)
    if kind == "tool_result":
        return _read_result(data)
    if kind == "thinking":
        signature = maybe_string(data, "signature")
        return Thinking(text=string(data, "thinking"), signature=signature or None, extra=_extra(data, _THINKING))
    if kind == "redacted_thinking":
        return Thinking(encrypted=string(data, "data"), extra=_extra(data, _THINKING))
    if kind in {"image", "document"} and isinstance(data.get("source"), dict):
        return _read_media(data)
    return Opaque(extra={NAME: data})


def write_content(parts: Iterable[Part]) -> Any:
    """For the model: a string for a single plain text, otherwise a list of blocks."""
    listed = list(parts)
    if len(listed) == 1 and isinstance(listed[0], Text) and NAME not in listed[0].extra and listed[0].cache is None:
        return listed[0].text
    return write_blocks(listed, to_model=True)


def write_blocks(parts: Iterable[Part], *, to_model: bool) -> list[Json]:
    """The blocks for `parts`: for the model, which checks signatures, or for a client, which only stores them."""
    return [block for part in parts for block in _write_part(part, to_model=to_model)]


def write_call(call: ToolCall) -> Json:
    """One tool call."""
    block: Json = {"type": "tool_use", **own_fields(call.extra, NAME)}
    block.update({"id": ids.for_anthropic(call.id), "name": call.name, "input": arguments_object(call)})
    return block


def _write_part(part: Part, *, to_model: bool) -> list[Json]:
    extra = own_fields(part.extra, NAME)
    if isinstance(part, Text):
        block = {"type": "text", **extra, "text": part.text}
        return [_with_cache(block, part.cache)] if part.text or NAME in part.extra else []
    if isinstance(part, ToolCall):
        block = _with_cache(write_call(part), part.cache)
        return [redacted_thinking(part.signature), block] if part.signature and not to_model else [block]
    if isinstance(part, ToolResult):
        return [_with_cache(_write_result(part, extra), part.cache)]
    if isinstance(part, Thinking):
        return _write_thinking(part, extra, to_model=to_model)
    if isinstance(part, Opaque):
        return [extra] if extra else []
    return [_with_cache(_write_media(part, extra), part.cache)] if to_model or NAME in part.extra else []


def redacted_thinking(data: str) -> Json:
    """Reasoning that only the provider can read."""
    return {"type": "redacted_thinking", "data": data}


def _write_thinking(thinking: Thinking, extra: Json, *, to_model: bool) -> list[Json]:
    rest = {key: value for key, value in extra.items() if key != "cache_control"}
    text = thinking.text or "\n\n".join(thinking.summary)
    token = thinking.signature or thinking.encrypted
    if thinking.encrypted and not text:
        return [{"type": "redacted_thinking", **rest, "data": thinking.encrypted}]
    if to_model and not token:
        return []
    return [{"type": "thinking", **rest, "thinking": text, "signature": token or ""}]


def _read_call(data: Json) -> ToolCall:
    arguments, raw = read_arguments_object(data.get("input"))
    return ToolCall(
        id=maybe_string(data, "id") or "",
        name=maybe_string(data, "name") or "",
        arguments=arguments,
        raw=raw,
        cache=_cache(data),
        extra=_extra(data, _CALL),
    )


def _read_result(data: Json) -> ToolResult:
    content = read_content(data)
    parts = tuple(part for part in content if isinstance(part, Text | Image | Document))
    fields = {key: value for key, value in data.items() if key not in _RESULT}
    if "content" in data and (not data["content"] or len(parts) < len(content)):
        fields["content"] = data["content"]
    return ToolResult(
        call_id=maybe_string(data, "tool_use_id") or "",
        parts=parts,
        is_error=maybe_flag(data, "is_error"),
        cache=_cache(data),
        extra={NAME: fields} if fields else {},
    )


def _write_result(result: ToolResult, extra: Json) -> Json:
    block: Json = {"type": "tool_result", **extra, "tool_use_id": ids.for_anthropic(result.call_id)}
    if result.parts and not extra.get("content"):
        block["content"] = write_content(result.parts)
    if result.is_error is not None:
        block["is_error"] = result.is_error
    return block


def _read_media(data: Json) -> Image | Document:
    source = maybe_object(data, "source")
    kind = maybe_string(source, "type")
    unknown = {key: value for key, value in source.items() if key not in _SOURCE or value is None}
    if kind not in {"base64", "url", "text"}:
        unknown = source
    fields = {key: value for key, value in data.items() if key not in _MEDIA or value is None}
    extra: Extra = {NAME: {**fields, "source": unknown} if unknown else fields}
    media, url = maybe_string(source, "media_type"), maybe_string(source, "url")
    content = maybe_string(source, "data")
    if data["type"] == "image":
        return Image(media_type=media, data=content, url=url, cache=_cache(data), extra=extra)
    return Document(
        media_type=media,
        data=None if kind == "text" else content,
        text=content if kind == "text" else None,
        url=url,
        name=maybe_string(data, "title"),
        cache=_cache(data),
        extra=extra,
    )


def _write_media(part: Image | Document, extra: Json) -> Json:
    image = isinstance(part, Image)
    unknown = extra.get("source", {})
    source: Json
    if isinstance(part, Document) and part.text is not None:
        source = {"type": "text", "media_type": part.media_type or "text/plain", "data": part.text}
    elif part.data is not None:
        media = part.media_type or ("image/png" if image else "application/pdf")
        source = {"type": "base64", "media_type": media, "data": part.data}
    elif part.url is not None:
        source = {"type": "url", "url": part.url}
    else:
        source = {}
    block: Json = {"type": "image" if image else "document", **extra, "source": {**source, **unknown}}
    if isinstance(part, Document) and part.name is not None:
        block["title"] = part.name
    return block


def _extra(data: Json, names: frozenset[str]) -> Extra:
    return unknown_fields(NAME, data, names)


def _cache(data: Json) -> Cache | None:
    cache = data.get("cache_control")
    return cache if cache is None or isinstance(cache, dict) else reject("cache_control", "an object", cache)


def _with_cache(block: Json, cache: Cache | None) -> Json:
    if cache is not None:
        block["cache_control"] = cache
    return block
