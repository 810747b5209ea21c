"""Content of the Responses format: what stands inside messages and tool outputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from demeanor.core.messages import Document, Extra, Image, Opaque, Part, Text
from demeanor.gateway.dialects import data_url
from demeanor.gateway.dialects.json_reader import Json, each, maybe_string, own, string

NAME = "openai-responses"

_TEXTS = frozenset({"input_text", "output_text", "text"})


def read_content(data: Json, key: str) -> tuple[Part, ...]:
    """Text, or a list of parts."""
    content = data.get(key)
    if isinstance(content, str):
        return (Text(text=content),) if content else ()
    return each(data, key, read_part) if content else ()


def read_part(data: Json) -> Part:
    """One part."""
    kind = maybe_string(data, "type")
    if kind in _TEXTS:
        return Text(text=string(data, "text"), extra=_kept(data, "text"))
    if kind == "refusal":
        return Text(text=string(data, "refusal"), extra=_kept(data, "refusal"))
    if kind == "input_image":
        url = maybe_string(data, "image_url")
        inline = data_url.split(url)
        if inline:
            return Image(media_type=inline[0], data=inline[1], extra=_kept(data, "image_url"))
        return Image(url=url, extra=_kept(data, "image_url"))
    if kind == "input_file":
        return _read_file(data)
    return Opaque(extra={NAME: data})


def write_content(parts: Iterable[Part], *, kind: str, glue: str | None = None) -> Any:
    """Text where text will do, a list otherwise; with `glue`, several texts are made one."""
    listed = list(parts)
    texts = [part.text for part in listed if isinstance(part, Text) and NAME not in part.extra]
    if len(texts) == len(listed) and (glue is not None or len(texts) == 1):
        return (glue or "").join(texts)
    return [item for part in listed if (item := write_part(part, kind=kind)) is not None]


def write_part(part: Part, *, kind: str) -> Json | None:
    """One part; `kind` is the word for text in this place."""
    extra = own(part.extra, NAME)
    if isinstance(part, Text):
        field = "refusal" if extra.get("type") == "refusal" else "text"
        return {"type": kind, **extra, field: part.text}
    if isinstance(part, Image):
        url = part.url if part.data is None else data_url.join(part.media_type or "image/png", part.data)
        told: Json = {"type": "input_image", **(extra or {"detail": "auto"})}
        return told if url is None else {**told, "image_url": url}
    if isinstance(part, Document):
        return _write_file(part, extra, kind)
    return extra or None


def _read_file(data: Json) -> Document:
    content, url = maybe_string(data, "file_data"), maybe_string(data, "file_url")
    name = maybe_string(data, "filename")
    inline = data_url.split(content)
    known = {"filename", "file_url", "file_data"} if inline or content is None else {"filename", "file_url"}
    extra: Extra = {NAME: {key: value for key, value in data.items() if key not in known or not value}}
    if inline:
        return Document(media_type=inline[0], data=inline[1], name=name, url=url, extra=extra)
    return Document(url=url, name=name, extra=extra)


def _write_file(part: Document, extra: Json, kind: str) -> Json:
    if part.text is not None:
        return {"type": kind, "text": part.text}
    told: Json = {"type": "input_file", **extra}
    if part.data is not None:
        told["file_data"] = data_url.join(part.media_type or "application/octet-stream", part.data)
    if part.url is not None:
        told["file_url"] = part.url
    if part.name is not None:
        told["filename"] = part.name
    return told


def _kept(data: Json, known: str) -> Extra:
    return {NAME: {key: value for key, value in data.items() if key != known or value is None}}
