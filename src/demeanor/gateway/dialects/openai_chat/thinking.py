"""Reasoning in the chat dialect, where every provider does it differently.

`reasoning_content` and `reasoning` are plain text. `reasoning_details` is a list of typed entries with signatures and
encrypted data. It is streamed in fragments with the same index, which must be merged before they are sent back.
"""

from __future__ import annotations

from typing import Any

from demeanor.core.values.messages import Thinking
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.json_reader import Json, own_fields, reject, string

NAME = "openai-chat"
FIELD = f"{NAME}.field"
"""The key of `extra` under which a Thinking part stores the name of its plain text field."""

PLAIN = ("reasoning_content", "reasoning")
_KNOWN = frozenset({"text", "summary", "data", "signature", "id"})
TEXT, SUMMARY, ENCRYPTED = "reasoning.text", "reasoning.summary", "reasoning.encrypted"


def read_thinking(message: Json) -> tuple[list[Thinking], set[str]]:
    """The reasoning of an assistant message, and the fields that contained it."""
    details = message.get("reasoning_details")
    if details:
        if not isinstance(details, list):
            reject("reasoning_details", "a list", details)
        return [_read_detail(entry) for entry in merged_details(details)], {"reasoning_details"}
    for field in PLAIN:
        if message.get(field):
            return [Thinking(text=string(message, field), extra={FIELD: field})], {field}
    return [], set()


def write_thinking(thoughts: list[Thinking]) -> Json:
    """The fields of an assistant message for its reasoning."""
    message: Json = {}
    details = []
    plain = []
    for number, thought in enumerate(thoughts):
        if FIELD in thought.extra:
            message[thought.extra[FIELD]] = thought.text
            continue
        if NAME not in thought.extra:
            plain.append(thought.text or "\n\n".join(thought.summary))
        details.extend(write_details(thought, number))
    if any(plain):
        message["reasoning_content"] = "\n\n".join(text for text in plain if text)
    if details:
        message["reasoning_details"] = details
    return message


def write_details(thought: Thinking, index: int) -> list[Json]:
    """The typed entries for one thought."""
    entries = []
    if NAME in thought.extra:
        return [{**own_fields(thought.extra, NAME), **_known(thought)}]
    if thought.text:
        entries.append(_entry(TEXT, index, text=thought.text, signature=thought.signature))
    elif thought.summary:
        entries.append(_entry(SUMMARY, index, summary="\n\n".join(thought.summary)))
    token = thought.encrypted or (None if thought.text else thought.signature)
    if token:
        entries.append(_entry(ENCRYPTED, index, data=token))
    if thought.id is not None:
        entries = [{**entry, "id": thought.id} for entry in entries]
    return entries


def merged_details(details: list[Any]) -> list[Json]:
    """The entries with their fragments merged. An encrypted entry is always whole; one without data is dropped."""
    merged: dict[object, Json] = {}
    for position, entry in enumerate(details):
        _check_entry(entry, position)
        kind, index = entry.get("type"), entry.get("index")
        if kind == ENCRYPTED:
            if entry.get("data"):
                merged[position] = entry
            continue
        first = merged.get((kind, str(index)))
        if first is None:
            merged[kind, str(index)] = entry
        elif index is None and first.get("signature"):
            merged[position] = entry
        else:
            joined = {**first, **{field: value for field, value in entry.items() if value is not None}}
            for field in ("text", "summary"):
                if field in first or field in entry:
                    joined[field] = (first.get(field) or "") + (entry.get(field) or "")
            merged[kind, str(index)] = joined
    return list(merged.values())


def _check_entry(entry: Any, position: int) -> None:
    where = f"reasoning_details[{position}]"
    if not isinstance(entry, dict):
        raise Malformed(f"{where}: expected an object, found {type(entry).__name__}")
    for field in ("type", *_KNOWN):
        value = entry.get(field)
        if value is not None and not isinstance(value, str):
            raise Malformed(f"{where}.{field}: expected a string, found {type(value).__name__}")


def _read_detail(entry: Json) -> Thinking:
    summary = entry.get("summary")
    return Thinking(
        text=entry.get("text") or "",
        signature=entry.get("signature"),
        encrypted=entry.get("data"),
        summary=(summary,) if summary else (),
        id=entry.get("id"),
        extra={NAME: {key: value for key, value in entry.items() if not value or key not in _KNOWN}},
    )


def _known(thought: Thinking) -> Json:
    fields = {
        "text": thought.text,
        "summary": "\n\n".join(thought.summary),
        "data": thought.encrypted,
        "signature": thought.signature,
        "id": thought.id,
    }
    return {name: value for name, value in fields.items() if value}


def _entry(kind: str, index: int, **fields: str | None) -> Json:
    texts = {name: value for name, value in fields.items() if value is not None}
    return {"type": kind, **texts, "format": "unknown", "index": index}
