"""Content of messages and tool outputs in the Responses dialect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from demeanor.core.values.messages import Document, Extra, Image, Opaque, Part, Text
from demeanor.gateway.dialects.conversions import REFUSAL, data_url, is_refusal, split_data_url
from demeanor.gateway.dialects.json_reader import Json, maybe_string, own_fields, read_each, string

NAME = "openai-responses"

_TEXTS = frozenset({"input_text", "output_text", "text"})


def read_content(data: Json, key: str) -> tuple[Part, ...]:
    """A string, or a list of parts."""
    content = data.get(key)
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    return read_each(data, key, read_part) if content else ()


def read_part(data: Json) -> Part:
    """One part."""
    kind = maybe_string(data, "type")
    if kind in _TEXTS:
        return Text(text=string(data, "text"), extra=_extra(data, "text"))
    if kind == "refusal":
        return Text(text=string(data, "refusal"), extra={**_extra(data, "refusal"), REFUSAL: True})
    if kind == "input_image":
        url = maybe_string(data, "image_url")
        inline = split_data_url(url)
        if inline:
            return Image(media_type=inline[0], data=inline[1], extra=_extra(data, "image_url"))
        return Image(url=url, extra=_extra(data, "image_url"))
    if kind == "input_file":
        return _read_file(data)
    return Opaque(extra={NAME: data})


def write_content(parts: Iterable[Part], *, kind: str, separator: str | None = None) -> Any:
    """A string if possible, otherwise a list of parts; with `separator`, several texts are joined."""
    listed = list(parts)
    texts = [part.text for part in listed if isinstance(part, Text) and NAME not in part.extra and not is_refusal(part)]
    if len(texts) == len(listed) and (separator is not None or len(texts) == 1):
        return (separator or "").join(texts)
    return [item for part in listed if (item := write_part(part, kind=kind)) is not None]


def write_part(part: Part, *, kind: str) -> Json | None:
    """One part; `kind` is the type of text parts in this place."""
    extra = own_fields(part.extra, NAME)
    if isinstance(part, Text):
        if is_refusal(part):
            return {"type": "refusal", **extra, "refusal": part.text}
        return {"type": kind, **extra, "text": part.text}
    if isinstance(part, Image):
        url = part.url if part.data is None else data_url(part.media_type or "image/png", part.data)
        data: Json = {"type": "input_image", **(extra or {"detail": "auto"})}
        return data if url is None else {**data, "image_url": url}
    if isinstance(part, Document):
        return _write_file(part, extra, kind)
    return extra or None


def _read_file(data: Json) -> Document:
    content, url = maybe_string(data, "file_data"), maybe_string(data, "file_url")
    name = maybe_string(data, "filename")
    inline = split_data_url(content)
    names = {"filename", "file_url", "file_data"} if inline or content is None else {"filename", "file_url"}
    extra: Extra = {NAME: {key: value for key, value in data.items() if key not in names or not value}}
    if inline:
        return Document(media_type=inline[0], data=inline[1], name=name, url=url, extra=extra)
    return Document(url=url, name=name, extra=extra)


def _write_file(part: Document, extra: Json, kind: str) -> Json:
    if part.text is not None:
        return {"type": kind, "text": part.text}
    data: Json = {"type": "input_file", **extra}
    if part.data is not None:
        data["file_data"] = data_url(part.media_type or "application/octet-stream", part.data)
    if part.url is not None:
        data["file_url"] = part.url
    if part.name is not None:
        data["filename"] = part.name
    return data


def _extra(data: Json, name: str) -> Extra:
    return {NAME: {key: value for key, value in data.items() if key != name or value is None}}
