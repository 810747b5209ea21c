"""Messages of the chat dialect; each is one canonical message, tool results included."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from demeanor.core.values.messages import (
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
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.conversions import REFUSAL, data_url, is_refusal, split_data_url
from demeanor.gateway.dialects.json_reader import (
    Json,
    as_extra,
    extra_fields,
    maybe_object,
    maybe_string,
    own_fields,
    read_each,
    reject,
    string,
)
from demeanor.gateway.dialects.openai_chat.thinking import NAME, read_thinking, write_thinking
from demeanor.gateway.dialects.strict_json import arguments, compact

IMAGE_BELOW = "(see following user message for image)"
"""Text in a tool result for a picture, which this dialect can't include there."""

NO_CONTENT = f"{NAME}.bare"
"""The key of `extra` that marks an assistant message without content, not even null."""

ROLES: dict[str, Role] = {"system": "system", "developer": "developer", "user": "user", "assistant": "assistant"}
_RESULT_PARTS = (Text, Image, Document)
_MESSAGE = frozenset({"role", "content"})
_ASSISTANT = _MESSAGE | {"tool_calls", "refusal"}
_TOOL = frozenset({"role", "content", "tool_call_id", "name"})
_TEXT = frozenset({"type", "text"})
_REFUSED = frozenset({"type", "refusal"})
_CALL = frozenset({"id", "type", "function"})
_FUNCTION = frozenset({"name", "arguments"})
_LISTED: Extra = {NAME: {}}


def read_message(data: Json) -> Message:
    """One message."""
    role, content = data.get("role"), data.get("content")
    if content.__class__ is str and content and len(data) == 2 and role.__class__ is str and role in ROLES:
        return Message(role=ROLES[role], parts=(Text(text=content),))  # fast path for plain messages
    if role == "tool":
        return Message(role="user", parts=(_read_result(data),))
    if role == "assistant":
        thoughts, thinking_fields = read_thinking(data)
        calls = read_each(data, "tool_calls", read_call) if data.get("tool_calls") else ()
        parts: tuple[Part, ...] = (*thoughts, *read_content(data), *_read_refusal(data), *calls)
        if calls and content is None and len(data) == 3 and "content" in data:
            return Message(role="assistant", parts=parts)  # null content is the default next to calls
        extra = as_extra(NAME, extra_fields(data, _ASSISTANT | thinking_fields if thinking_fields else _ASSISTANT))
        return Message(role="assistant", parts=parts, extra=extra if "content" in data else {**extra, NO_CONTENT: True})
    if not isinstance(role, str):
        reject("role", "a string", role)
    extra = extra_fields(data, _MESSAGE)
    if role not in ROLES:
        extra["role"] = role
    return Message(role=ROLES.get(role, "user"), parts=read_content(data), extra=as_extra(NAME, extra))


def read_content(data: Json) -> tuple[Part, ...]:
    """The content of a message: text, or a list of parts."""
    content = data.get("content")
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    return read_each(data, "content", _read_part) if content else ()


def _read_refusal(data: Json) -> tuple[Text, ...]:
    refusal = maybe_string(data, "refusal")
    return (Text(text=refusal, extra={REFUSAL: True}),) if refusal else ()


def read_call(data: Json) -> ToolCall:
    """One tool call."""
    function = data.get("function")
    if len(data) == 3 and function.__class__ is dict and len(function) == 2 and data.get("type") == "function":
        call_id, name, raw = data.get("id"), function.get("name"), function.get("arguments")
        if call_id and name and raw and call_id.__class__ is name.__class__ is raw.__class__ is str:
            return ToolCall(id=call_id, name=name, arguments=arguments(raw), raw=raw)  # fast path
    return _read_unusual_call(data)


def is_custom(data: Json) -> bool:
    """Whether a call is of a tool that takes plain text; some servers send an empty `custom` with every call."""
    custom = data.get("custom")
    return data.get("type") == "custom" or (bool(custom) and not data.get("function") and data.get("type") is None)


def _read_unusual_call(data: Json) -> ToolCall:
    extra = extra_fields(data, _CALL)
    call_id = maybe_string(data, "id") or ""
    if is_custom(data):
        return _read_custom(data, call_id, extra)
    function = maybe_object(data, "function")
    name, raw = maybe_string(function, "name") or "", function.get("arguments")
    unknown = extra_fields(function, _FUNCTION)
    if raw is None:
        raw = ""
    elif not isinstance(raw, str):
        unknown["arguments"] = raw
        raw = compact(raw)
    if unknown:
        extra["function"] = unknown
    if (maybe_string(data, "type") or "function") != "function":
        extra["type"] = data["type"]
    return ToolCall(
        id=call_id,
        name=name,
        arguments=arguments(raw),
        raw=raw,
        signature=signature_of(data),
        extra=as_extra(NAME, extra),
    )


def write_messages(messages: Iterable[Message]) -> list[Json]:
    """The messages of a conversation."""
    output: list[Json] = []
    for message in messages:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        if message.role == "assistant":
            output.append(write_assistant(message.parts, message.extra))
        elif not results:
            output.append(_write_plain(message.role, message.parts, own_fields(message.extra, NAME)))
        else:
            output.extend(_write_result(result) for result in results)
            media = tuple(part for result in results for part in result.parts if _must_follow_result(part))
            rest = tuple(part for part in message.parts if not isinstance(part, ToolResult))
            output.extend(_write_plain("user", parts, {}) for parts in (media, rest) if parts)
    return output


def write_assistant(parts: tuple[Part, ...], extra: Extra) -> Json:
    """A message of the model."""
    calls = [write_call(part) for part in parts if isinstance(part, ToolCall)]
    thoughts = [part for part in parts if isinstance(part, Thinking)]
    refusals = [part.text for part in parts if isinstance(part, Text) and is_refusal(part) and NAME not in part.extra]
    content = [
        part
        for part in parts
        if not isinstance(part, ToolCall | Thinking) and (NAME in part.extra or not is_refusal(part))
    ]
    message: Json = {"role": "assistant"}
    if NO_CONTENT not in extra:
        message["content"] = None if calls or refusals else ""
    message.update(own_fields(extra, NAME))
    if content:
        message["content"] = _write_content(content, separator="\n") or message.get("content")
    if refusals:
        message["refusal"] = "".join(refusals)
    message.update(write_thinking(thoughts))
    if calls:
        message["tool_calls"] = calls
    return message


def write_call(call: ToolCall) -> Json:
    """One tool call."""
    extra = dict(own_fields(call.extra, NAME))
    call_id = ids.for_chat(call.id)
    if extra.get("type") == "custom":
        custom = {
            **(extra.pop("custom", None) or {}),
            "name": call.name,
            "input": (call.arguments or {}).get("input", call.raw),
        }
        return {"id": call_id, **extra, "custom": custom}
    unknown = extra.pop("function", None) or {}
    function = {"name": call.name, "arguments": call.raw or compact(call.arguments or {}), **unknown}
    data = {"id": call_id, "type": "function", **extra, "function": function}
    if call.signature and not extra.get("extra_content"):
        data["extra_content"] = {"google": {"thought_signature": call.signature}}
    return data


def _read_custom(data: Json, call_id: str, extra: Json) -> ToolCall:
    custom = maybe_object(data, "custom")
    typed = {"input": string(custom, "input")}
    extra = {**extra, "type": "custom", "custom": extra_fields(custom, frozenset({"name", "input"}))}
    name = maybe_string(custom, "name") or ""
    return ToolCall(id=call_id, name=name, arguments=typed, raw=compact(typed), extra=as_extra(NAME, extra))


def signature_of(data: Json) -> str | None:
    """Gemini's thought signature on a call, where its OpenAI-compatible API puts it."""
    extra_content = data.get("extra_content")
    google = extra_content.get("google") if isinstance(extra_content, dict) else None
    signature = google.get("thought_signature") if isinstance(google, dict) else None
    return signature if isinstance(signature, str) else None


def _read_result(data: Json) -> ToolResult:
    text, call_id = data.get("content"), data.get("tool_call_id")
    if len(data) == 3 and text and call_id and text.__class__ is call_id.__class__ is str:
        return ToolResult(call_id=call_id, parts=(Text(text=text),))  # fast path
    content = read_content(data)
    extra = extra_fields(data, _TOOL)
    parts = tuple([part for part in content if isinstance(part, _RESULT_PARTS)])
    if len(parts) < len(content):
        extra["content"] = data["content"]
    return ToolResult(
        call_id=maybe_string(data, "tool_call_id") or "",
        name=maybe_string(data, "name"),
        parts=parts,
        extra=as_extra(NAME, extra),
    )


def _write_result(result: ToolResult) -> Json:
    extra = own_fields(result.extra, NAME)
    parts = [Text(text=IMAGE_BELOW) if _must_follow_result(part) else part for part in result.parts]
    data = {"role": "tool", "tool_call_id": ids.for_chat(result.call_id), "content": "", **extra}
    if parts and not extra.get("content"):
        data["content"] = _write_content(parts, separator="\n")
    if result.name:
        data["name"] = result.name
    return data


def _must_follow_result(part: Part) -> bool:
    return isinstance(part, Image | Document) and NAME not in part.extra


def _write_plain(role: str, parts: tuple[Part, ...], extra: Json) -> Json:
    separator = "\n\n" if role in {"system", "developer"} else None
    data = {"role": role, "content": "", **extra}
    if parts:
        data["content"] = _write_content(parts, separator=separator)
    return data


def _write_content(parts: Iterable[Part], *, separator: str | None) -> Any:
    """A string if possible, otherwise a list of parts; with `separator`, several texts are joined."""
    texts = [part.text for part in parts if isinstance(part, Text) and NAME not in part.extra]
    written = [item for part in parts if (item := _write_part(part)) is not None]
    if len(texts) == len(written) and (separator is not None or len(texts) == 1):
        return (separator or "").join(texts)
    return written or ""


def _read_part(data: Json) -> Part:
    kind = maybe_string(data, "type")
    if kind == "text":
        text = string(data, "text")
        cache = data.get("cache_control")
        extra = _LISTED if len(data) == 2 else {NAME: extra_fields(data, _TEXT)}
        return Text(text=text, cache=cache if isinstance(cache, dict) else None, extra=extra)
    if kind == "refusal":
        return Text(text=string(data, "refusal"), extra={NAME: extra_fields(data, _REFUSED), REFUSAL: True})
    if kind == "image_url" and isinstance(data.get("image_url"), dict):
        return _read_image(data)
    if kind == "file" and isinstance(data.get("file"), dict):
        return _read_file(data)
    return Opaque(extra={NAME: data})


def _read_image(data: Json) -> Image:
    image = data["image_url"]
    url = string(image, "url")
    extra = {**data, "image_url": extra_fields(image, frozenset({"url"}))}
    inline = split_data_url(url)
    if inline:
        return Image(media_type=inline[0], data=inline[1], extra={NAME: extra})
    return Image(url=url, extra={NAME: extra})


def _read_file(data: Json) -> Document:
    file = data["file"]
    content, name = maybe_string(file, "file_data"), maybe_string(file, "filename")
    extra = {**data, "file": extra_fields(file, frozenset({"file_data", "filename"}))}
    inline = split_data_url(content)
    if inline:
        return Document(media_type=inline[0], data=inline[1], name=name, extra={NAME: extra})
    return Document(url=content, name=name, extra={NAME: extra})


def _write_part(part: Part) -> Json | None:
    extra = own_fields(part.extra, NAME)
    if isinstance(part, Text):
        kind = "refusal" if is_refusal(part) else "text"
        return {"type": kind, **extra, kind: part.text}
    if isinstance(part, Image):
        url = part.url if part.data is None else data_url(part.media_type or "image/png", part.data)
        return {"type": "image_url", **extra, "image_url": {**extra.get("image_url", {}), "url": url or ""}}
    if isinstance(part, Document):
        return _write_document(part, extra)
    return extra or None


def _write_document(part: Document, extra: Json) -> Json:
    if part.text is not None:
        return {"type": "text", "text": part.text}
    file = dict(extra.get("file", {}))
    if part.data is not None:
        file["file_data"] = data_url(part.media_type or "application/octet-stream", part.data)
    elif part.url is not None:
        file["file_data"] = part.url
    if part.name is not None:
        file["filename"] = part.name
    return {"type": "file", **extra, "file": file}
