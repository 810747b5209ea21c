"""Converts a capture to JSON and back. The workspace is stored as its changes and the hash of its starting state."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from dataclasses import replace
from hashlib import sha256
from typing import Any, TypeVar

from demeanor.core.text.codec import decode, encode
from demeanor.core.trees.tree import Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import StoreError
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.judge_question import JudgeAnswer

SCHEMA = "demeanor-capture/1"
T = TypeVar("T")

_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, OverflowError, RecursionError)
"""What is raised for JSON that does not describe a capture: it is the text of a worker, or was damaged."""


def capture_json(capture: Capture, *, start: str = "") -> bytes:
    """The capture as one line, with the files that changed since the starting state with the hash `start`."""
    data = encode(replace(capture, before=Tree(), after=_delta(capture.before, capture.after)))
    if deleted := sorted(capture.before.entries.keys() - capture.after.entries.keys()):
        data["deleted"] = deleted
    return json.dumps({"schema": SCHEMA, "start": start, **data}, separators=(",", ":")).encode() + b"\n"


def content_hash(text: bytes) -> str:
    """The hash that addresses a capture; the same as `zcat FILE | sha256sum`."""
    return sha256(text).hexdigest()


def read_capture_json(text: bytes, before: Tree, *, where: str) -> Capture:
    """Read a capture; `before` is the starting state of the workspace."""
    data = _data(text, where)
    try:
        data.pop("start", None)
        deleted = data.pop("deleted", ())
        capture = decode(Capture, data)
        kept = {path: entry for path, entry in before.entries.items() if path not in deleted}
        after = replace(capture.after, entries={**kept, **capture.after.entries})
        return replace(capture, before=before, after=after)
    except _UNREADABLE as error:
        raise StoreError(f"{where}: the capture can't be read: {error}") from None


def read_start_hash(text: bytes, *, where: str) -> str:
    """The hash of the starting state; empty if it may contain a secret."""
    digest = _data(text, where).get("start")
    if not isinstance(digest, str) or (digest and not re.fullmatch("[0-9a-f]{64}", digest)):
        raise StoreError(f"{where}: the capture can't be read: {digest!r} is not the hash of a starting state")
    return digest


def read_exchanges(text: bytes, *, where: str) -> tuple[Exchange, ...]:
    """The exchanges of a capture; these need no starting state."""
    return _items(Exchange, text, "exchanges", where)


def read_capture_answers(text: bytes, *, where: str) -> tuple[JudgeAnswer, ...]:
    """The answers of judges in a capture; these need no starting state."""
    return _items(JudgeAnswer, text, "judge_answers", where)


def _items(kind: type[T], text: bytes, key: str, where: str) -> tuple[T, ...]:
    try:
        return tuple(decode(kind, item) for item in _data(text, where).get(key, ()))
    except _UNREADABLE as error:
        raise StoreError(f"{where}: the capture can't be read: {error}") from None


def unpack(packed: bytes, expected: str, *, where: str) -> bytes:
    """Uncompress a capture; raises StoreError if its hash is not `expected`."""
    try:
        text = gzip.decompress(packed)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise StoreError(f"{where}: the capture can't be read: {error}") from None
    if expected and content_hash(text) != expected:
        raise StoreError(f"{where}: the capture is damaged: its hash is not {expected[:12]}…")
    return text


def _data(text: bytes, where: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{where}: the capture can't be read: {error}") from None
    schema = data.pop("schema", None) if isinstance(data, dict) else None
    if schema != SCHEMA:
        raise StoreError(f"{where}: the capture was written by another version of Demeanor ({schema!r})")
    return data  # type: ignore[no-any-return]


def _delta(before: Tree, after: Tree) -> Tree:
    return replace(
        after,
        entries={path: entry for path, entry in after.entries.items() if not entry.same(before.entries.get(path))},
    )
