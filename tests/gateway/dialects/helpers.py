"""Helpers for the tests of dialects: streams in pieces, and messages with one value changed."""

from __future__ import annotations

from typing import Any

from demeanor.gateway.dialects.dialect import Dialect
from demeanor.gateway.dialects.stream_events import Delta

SIZES = (1, 2, 3, 7, 64)
"""A size of one cuts at every byte boundary; the others shift the cuts against the lines."""


def in_pieces(dialect: Dialect, body: bytes, size: int) -> list[Delta]:
    """The deltas that a reader returns for `body` in chunks of `size` bytes."""
    reader = dialect.stream_reader()
    written = [delta for at in range(0, len(body), size) for delta in reader.feed(body[at : at + size])]
    return [*written, *reader.close()]


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path in a JSON value."""
    found = [path]
    if isinstance(data, dict):
        found += [deeper for key, value in data.items() for deeper in places(value, (*path, key))]
    if isinstance(data, list):
        found += [deeper for at, value in enumerate(data) for deeper in places(value, (*path, at))]
    return found


def changed(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """`data` with another value at `path`."""
    if not path:
        return value
    copy = dict(data) if isinstance(data, dict) else list(data)
    copy[path[0]] = changed(data[path[0]], path[1:], value)
    return copy


def without(data: Any, path: tuple[Any, ...]) -> Any:
    """`data` without the value at `path`."""
    inner, copy = path[0], dict(data) if isinstance(data, dict) else list(data)
    if path[1:]:
        copy[inner] = without(data[inner], path[1:])
    else:
        del copy[inner]
    return copy
