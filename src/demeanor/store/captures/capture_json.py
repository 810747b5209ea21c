"""A capture as JSON and back. Of the workspace only what changed is written, and the hash of what it started from."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from dataclasses import replace
from hashlib import sha256
from typing import Any

from demeanor.core.capture import Capture
from demeanor.core.codec import decode, encode
from demeanor.core.errors import StoreError
from demeanor.core.exchange import Exchange
from demeanor.core.tree import Tree

SCHEMA = "demeanor-capture/2"
_READ = {SCHEMA, "demeanor-capture/1"}
"""The first version did not say what the workspace started from."""


def capture_json(capture: Capture, *, start: str = "") -> bytes:
    """The capture as one line, with only those files of the workspace that changed since `start`, the hash of it."""
    data = encode(replace(capture, before=Tree(), after=_delta(capture.before, capture.after)))
    data["deleted"] = sorted(capture.before.entries.keys() - capture.after.entries.keys())
    return json.dumps({"schema": SCHEMA, "start": start, **data}).encode() + b"\n"


def content_hash(text: bytes) -> str:
    """What a capture is found by: `zcat FILE | sha256sum` says the same."""
    return sha256(text).hexdigest()


def read_capture_json(text: bytes, before: Tree, *, where: str) -> Capture:
    """The capture again; `before` is the workspace's starting state."""
    data = _data(text, where)
    try:
        data.pop("start", None)
        deleted = data.pop("deleted", ())
        capture = decode(Capture, data)
        kept = {path: entry for path, entry in before.entries.items() if path not in deleted}
        after = Tree(entries={**kept, **capture.after.entries}, gaps=capture.after.gaps)
        return replace(capture, before=before, after=after)
    except (ValueError, TypeError) as error:
        raise StoreError(f"{where}: the capture can't be read: {error}") from None


def read_start_hash(text: bytes, *, where: str) -> str | None:
    """The hash of the state that the workspace started from: empty where it must not be known, None where nobody noted
    it."""
    found = _data(text, where).get("start")
    if found and not re.fullmatch("[0-9a-f]{64}", str(found)):
        raise StoreError(f"{where}: the capture can't be read: {found!r} is no hash of a starting state")
    return None if found is None else str(found)


def read_exchanges(text: bytes, *, where: str) -> tuple[Exchange, ...]:
    """What went over the wire; the workspace is not needed for it."""
    try:
        return tuple(decode(Exchange, one) for one in _data(text, where).get("exchanges", ()))
    except (ValueError, TypeError) as error:
        raise StoreError(f"{where}: the capture can't be read: {error}") from None


def unpack(packed: bytes, expected: str, *, where: str) -> bytes:
    """A compressed capture as text, which must be the one that is meant."""
    try:
        text = gzip.decompress(packed)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise StoreError(f"{where}: the capture can't be read: {error}") from None
    if expected and content_hash(text) != expected:
        raise StoreError(f"{where}: the capture is damaged: its content is not {expected[:12]}…")
    return text


def _data(text: bytes, where: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise StoreError(f"{where}: the capture can't be read: {error}") from None
    found = data.pop("schema", None) if isinstance(data, dict) else None
    if found not in _READ:
        raise StoreError(f"{where}: the capture was written by another version of Demeanor ({found!r})")
    return data  # type: ignore[no-any-return]


def _delta(before: Tree, after: Tree) -> Tree:
    return Tree(
        entries={path: entry for path, entry in after.entries.items() if not entry.same(before.entries.get(path))},
        gaps=after.gaps,
    )
