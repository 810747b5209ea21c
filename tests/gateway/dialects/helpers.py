"""Helpers for the tests of stream readers."""

from __future__ import annotations

from demeanor.gateway.dialects.dialect import Dialect
from demeanor.gateway.dialects.stream_events import Delta

SIZES = (1, 2, 3, 7, 64)
"""A size of one cuts at every byte boundary; the others shift the cuts against the lines."""


def in_pieces(dialect: Dialect, body: bytes, size: int) -> list[Delta]:
    """The deltas that a reader returns for `body` in chunks of `size` bytes."""
    reader = dialect.stream_reader()
    told = [delta for at in range(0, len(body), size) for delta in reader.feed(body[at : at + size])]
    return [*told, *reader.close()]
