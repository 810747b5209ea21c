"""Messages of the chat format: one of theirs is one of ours, tool results included."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from demeanor.core.messages import (
    Document,
    Extra,
    Image,
    Message,
    Opaque,
    Part,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from demeanor.gateway.dialects import data_url, ids
from demeanor.gateway.dialects.json_reader import (
    Json,
    each,
    inner,
    kept,
    leftover,
    maybe_string,
    own,
    string,
    wrong,
)
from demeanor.gateway.dialects.openai_chat.thinking import NAME, read_thinking, write_thinking
from demeanor.gateway.dialects.strict_json import arguments, compact

SEE_BELOW = "(see following user message for image)"
"""Stands in a tool's result for the picture that this format can't put there."""

BARE = f"{NAME}.bare"
"""Under this name an assistant message's extra tells that it had no content, not even null."""

ROLES: dict[str, Role] = {"system": "system", "developer": "developer", "user": "user", "assistant": "assistant"}
_SHOWN = (Text, Image, Document)
_MESSAGE = frozenset({"role", "content"})
_ASSISTANT = _MESSAGE | {"tool_calls"}
_TOOL = frozenset({"role", "content", "tool_call_id", "name"})
_TEXT = frozenset({"type", "text"})
_CALL = frozenset({"id", "type", "function"})
_FUNCTION = frozenset({"name", "arguments"})
_LISTED: Extra = {NAME: {}}


def read_message(data: Json) -> Message:
    """One message."""
    role, content = data.get("role"), data.get("content")
    if content.__class__ is str and content and len(data) == 2 and role.__class__ is str and role in ROLES:
        return Message(role=ROLES[role], parts=(Text(text=content),))  # most messages are as plain as this
    if role == "tool":
        return Message(role="user", parts=(_read_result(data),))
    if role == "assistant":
        thoughts, told = read_thinking(data)
        calls = each(data, "tool_calls", read_call) if data.get("tool_calls") else ()
        parts: tuple[Part, ...] = (*thoughts, *read_content(data), *calls)
        if calls and content is None and len(data) == 3 and "content" in data:
            return Message(role="assistant", parts=parts)  # null is what a turn of calls has here anyway
        extra = kept(NAME, leftover(data, _ASSISTANT | told if told else _ASSISTANT))
        return Message(role="assistant", parts=parts, extra=extra if "content" in data else {**extra, BARE: True})
    if not isinstance(role, str):
        wrong("role", "a string", role)
    extra = leftover(data, _MESSAGE)
    if role not in ROLES:
        extra["role"] = role
    return Message(role=ROLES.get(role, "user"), parts=read_content(data), extra=kept(NAME, extra))


def read_content(data: Json) -> tuple[Part, ...]:
    """The content of a message: text, or a list of parts."""
    content = data.get("content")
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    return each(data, "content", _read_part) if content else ()


def read_call(data: Json) -> ToolCall:
    """One tool call."""
    function = data.get("function")
    if len(data) == 3 and function.__class__ is dict and len(function) == 2 and data.get("type") == "function":
        given, name, raw = data.get("id"), function.get("name"), function.get("arguments")
        if given and name and raw and given.__class__ is name.__class__ is raw.__class__ is str:
            return ToolCall(id=given, name=name, arguments=arguments(raw), raw=raw)  # as nearly all are
    return _read_odd_call(data)


def _read_odd_call(data: Json) -> ToolCall:
    extra = leftover(data, _CALL)
    given = maybe_string(data, "id") or ""
    if "custom" in data:
        return _read_custom(data, given, extra)
    function = inner(data, "function")
    name, raw = maybe_string(function, "name") or "", function.get("arguments")
    odd = leftover(function, _FUNCTION)
    if raw is None:
        raw = ""
    elif not isinstance(raw, str):
        odd["arguments"] = raw
        raw = compact(raw)
    if odd:
        extra["function"] = odd
    if (maybe_string(data, "type") or "function") != "function":
        extra["type"] = data["type"]
    return ToolCall(
        id=given, name=name, arguments=arguments(raw), raw=raw, signature=signature_of(data), extra=kept(NAME, extra)
    )


def write_messages(messages: Iterable[Message]) -> list[Json]:
    """The messages of a conversation."""
    told: list[Json] = []
    for message in messages:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        if message.role == "assistant":
            told.append(write_assistant(message.parts, message.extra))
        elif not results:
            told.append(_write_plain(message.role, message.parts, own(message.extra, NAME)))
        else:
            told.extend(_write_result(result) for result in results)
            pictures = tuple(part for result in results for part in result.parts if _must_move(part))
            rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
            told.extend(_write_plain("user", parts, {}) for parts in (pictures, rest) if parts)
    return told


def write_assistant(parts: tuple[Part, ...], extra: Extra) -> Json:
    """A message of the model."""
    calls = [write_call(part) for part in parts if isinstance(part, ToolCall)]
    thoughts = [part for part in parts if isinstance(part, Thinking)]
    said = [part for part in parts if not isinstance(part, ToolCall | Thinking)]
    told: Json = {"role": "assistant"}
    if BARE not in extra:
        told["content"] = None if calls else ""
    told.update(own(extra, NAME))
    if said:
        told["content"] = _content(said, glue="\n") or told.get("content")
    told.update(write_thinking(thoughts))
    if calls:
        told["tool_calls"] = calls
    return told


def write_call(call: ToolCall) -> Json:
    """One tool call."""
    extra = dict(own(call.extra, NAME))
    given = ids.for_chat(call.id)
    if extra.get("type") == "custom":
        custom = {
            **(extra.pop("custom", None) or {}),
            "name": call.name,
            "input": (call.arguments or {}).get("input", call.raw),
        }
        return {"id": given, **extra, "custom": custom}
    odd = extra.pop("function", None) or {}
    function = {"name": call.name, "arguments": call.raw or compact(call.arguments or {}), **odd}
    told = {"id": given, "type": "function", **extra, "function": function}
    if call.signature and not extra.get("extra_content"):
        told["extra_content"] = {"google": {"thought_signature": call.signature}}
    return told


def _read_custom(data: Json, given: str, extra: Json) -> ToolCall:
    custom = inner(data, "custom")
    typed = {"input": string(custom, "input")}
    extra = {**extra, "type": "custom", "custom": leftover(custom, frozenset({"name", "input"}))}
    name = maybe_string(custom, "name") or ""
    return ToolCall(id=given, name=name, arguments=typed, raw=compact(typed), extra=kept(NAME, extra))


def signature_of(data: Json) -> str | None:
    """Gemini's thought signature on a call, where its chat API puts it."""
    extra_content = data.get("extra_content")
    google = extra_content.get("google") if isinstance(extra_content, dict) else None
    signature = google.get("thought_signature") if isinstance(google, dict) else None
    return signature if isinstance(signature, str) else None


def _read_result(data: Json) -> ToolResult:
    text, given = data.get("content"), data.get("tool_call_id")
    if len(data) == 3 and text and given and text.__class__ is given.__class__ is str:
        return ToolResult(call_id=given, parts=(Text(text=text),))  # as nearly all are
    content = read_content(data)
    extra = leftover(data, _TOOL)
    parts = tuple([part for part in content if isinstance(part, _SHOWN)])
    if len(parts) < len(content):
        extra["content"] = data["content"]
    return ToolResult(
        call_id=maybe_string(data, "tool_call_id") or "",
        name=maybe_string(data, "name"),
        parts=parts,
        extra=kept(NAME, extra),
    )


def _write_result(result: ToolResult) -> Json:
    extra = own(result.extra, NAME)
    parts = [Text(text=SEE_BELOW) if _must_move(part) else part for part in result.parts]
    told = {"role": "tool", "tool_call_id": ids.for_chat(result.call_id), "content": "", **extra}
    if parts and not extra.get("content"):
        told["content"] = _content(parts, glue="\n")
    if result.name:
        told["name"] = result.name
    return told


def _must_move(part: Part) -> bool:
    return isinstance(part, Image | Document) and NAME not in part.extra


def _write_plain(role: str, parts: tuple[Part, ...], extra: Json) -> Json:
    glue = "\n\n" if role in {"system", "developer"} else None
    told = {"role": role, "content": "", **extra}
    if parts:
        told["content"] = _content(parts, glue=glue)
    return told


def _content(parts: Iterable[Part], *, glue: str | None) -> Any:
    """Text where text will do, a list otherwise; with `glue`, several texts are made one."""
    texts = [part.text for part in parts if isinstance(part, Text) and NAME not in part.extra]
    told = [item for part in parts if (item := _write_part(part)) is not None]
    if len(texts) == len(told) and (glue is not None or len(texts) == 1):
        return (glue or "").join(texts)
    return told or ""


def _read_part(data: Json) -> Part:
    kind = maybe_string(data, "type")
    if kind == "text":
        text = string(data, "text")
        cache = data.get("cache_control")
        extra = _LISTED if len(data) == 2 else {NAME: leftover(data, _TEXT)}
        return Text(text=text, cache=cache if isinstance(cache, dict) else None, extra=extra)
    if kind == "image_url" and isinstance(data.get("image_url"), dict):
        return _read_image(data)
    if kind == "file" and isinstance(data.get("file"), dict):
        return _read_file(data)
    return Opaque(extra={NAME: data})


def _read_image(data: Json) -> Image:
    image = data["image_url"]
    url = string(image, "url")
    extra = {**data, "image_url": leftover(image, frozenset({"url"}))}
    inline = data_url.split(url)
    if inline:
        return Image(media_type=inline[0], data=inline[1], extra={NAME: extra})
    return Image(url=url, extra={NAME: extra})


def _read_file(data: Json) -> Document:
    file = data["file"]
    content, name = maybe_string(file, "file_data"), maybe_string(file, "filename")
    extra = {**data, "file": leftover(file, frozenset({"file_data", "filename"}))}
    inline = data_url.split(content)
    if inline:
        return Document(media_type=inline[0], data=inline[1], name=name, extra={NAME: extra})
    return Document(url=content, name=name, extra={NAME: extra})


def _write_part(part: Part) -> Json | None:
    extra = own(part.extra, NAME)
    if isinstance(part, Text):
        return {"type": "text", **extra, "text": part.text}
    if isinstance(part, Image):
        url = part.url if part.data is None else data_url.join(part.media_type or "image/png", part.data)
        return {"type": "image_url", **extra, "image_url": {**extra.get("image_url", {}), "url": url or ""}}
    if isinstance(part, Document):
        return _write_document(part, extra)
    return extra or None


def _write_document(part: Document, extra: Json) -> Json:
    if part.text is not None:
        return {"type": "text", "text": part.text}
    file = dict(extra.get("file", {}))
    if part.data is not None:
        file["file_data"] = data_url.join(part.media_type or "application/octet-stream", part.data)
    elif part.url is not None:
        file["file_data"] = part.url
    if part.name is not None:
        file["filename"] = part.name
    return {"type": "file", **extra, "file": file}
