"""What the git objects in a file contain: loose objects, packs and bundles are compressed, which hides a secret.

The agent may have written the file, so it is read with limits, and what git could not read is read as far as possible.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

MAX_BYTES = 256 * 2**20
"""A file that contains more is not searched."""

_FIRST_PIECE, _LARGEST_PIECE = 2**12, 2**20
_MOST_ROUNDS = 64
_ZLIB = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
_PACKS = (b"PACK\0\0\0\2", b"PACK\0\0\0\3")
_HEADER, _NAME = 12, 20
_KINDS = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
_OFS_DELTA, _REF_DELTA = 6, 7


class TooMuchToSearch(ValueError):
    """A file contains more than is searched."""


@dataclass(frozen=True, slots=True)
class _Whole:
    """An object of a pack."""

    kind: bytes
    content: bytes


@dataclass(frozen=True, slots=True)
class _Delta:
    """An object that is stored as the difference from another one, given by position or name."""

    base: int | bytes
    delta: bytes


def git_objects(content: bytes) -> list[bytes]:
    """The contents of the git objects in a file; none if there are none. Raises TooMuchToSearch."""
    if content.startswith(_ZLIB):
        return [_inflated(content, 0, MAX_BYTES)[0]]
    start = min((at for magic in _PACKS if (at := content.find(magic)) >= 0), default=None)
    return [] if start is None else _unpacked(content, start + _HEADER)


def _unpacked(content: bytes, start: int) -> list[bytes]:
    """The objects of a pack, read from its beginning without an index. A delta without a base stands for itself."""
    stored = dict(_stored(content, start))
    whole = {at: item for at, item in stored.items() if isinstance(item, _Whole)}
    deltas = {at: item for at, item in stored.items() if isinstance(item, _Delta)}
    left = (
        MAX_BYTES - sum(len(item.content) for item in whole.values()) - sum(len(item.delta) for item in deltas.values())
    )
    for _ in range(_MOST_ROUNDS):
        names = _names(whole) if any(isinstance(delta.base, bytes) for delta in deltas.values()) else {}
        before = len(deltas)
        for at, delta in list(deltas.items()):  # a base that is given by its position comes first
            base = whole.get(delta.base if isinstance(delta.base, int) else names.get(delta.base, -1))
            if base is not None:
                content = _applied(delta.delta, base.content, left)
                left -= len(content)
                whole[at] = _Whole(base.kind, content)
                del deltas[at]
        if not deltas or len(deltas) == before:
            break
    return [*(item.content for item in whole.values()), *(item.delta for item in deltas.values())]


def _names(whole: dict[int, _Whole]) -> dict[bytes, int]:
    names = {}
    for at, item in whole.items():
        digest = hashlib.sha1(b"%s %d\0" % (item.kind, len(item.content)), usedforsecurity=False)
        digest.update(item.content)
        names[digest.digest()] = at
    return names


def _stored(content: bytes, at: int) -> Iterator[tuple[int, _Whole | _Delta]]:
    """The objects of a pack with their positions, up to the first that can't be read."""
    left = MAX_BYTES
    end: int | None = at
    while end is not None:
        at = end
        kind, start = _kind(content, at)
        base: int | bytes = b""
        if kind == _OFS_DELTA:
            back, start = _distance(content, start)
            base = at - back
        elif kind == _REF_DELTA:
            base, start = content[start : start + _NAME], start + _NAME
        elif kind not in _KINDS:
            return
        unpacked, end = _inflated(content, start, left)
        left -= len(unpacked)
        if end is None and not unpacked:  # the checksum of the pack
            return
        yield at, _Whole(_KINDS[kind], unpacked) if kind in _KINDS else _Delta(base, unpacked)


def _kind(content: bytes, at: int) -> tuple[int, int]:
    """The type of the object at a position, and where its content begins; the size that it states is not needed."""
    kind = content[at] >> 4 & 7 if at < len(content) else 0
    while at < len(content) and content[at] & 128:
        at += 1
    return kind, at + 1


def _distance(content: bytes, at: int) -> tuple[int, int]:
    """How far the base of a delta is, and where the delta begins."""
    value = -1
    while at < len(content):
        value = (value + 1) << 7 | content[at] & 127
        at += 1
        if not content[at - 1] & 128 or value > len(content):
            break
    return value, at


def _inflated(content: bytes, at: int, most: int) -> tuple[bytes, int | None]:
    """What a compressed stream contains, and where it ends; None if it is damaged.

    It is read in pieces, because zlib copies whatever follows the stream in a piece.
    """
    stream = zlib.decompressobj()
    pieces, size = bytearray(), _FIRST_PIECE
    while not stream.eof:
        piece = content[at : at + size]
        at, size = at + size, min(2 * size, _LARGEST_PIECE)
        try:
            pieces += stream.decompress(piece, most + 1 - len(pieces))
        except zlib.error:
            return bytes(pieces), None
        if len(pieces) > most:
            raise TooMuchToSearch
        if not piece:
            return bytes(pieces), None
    return bytes(pieces), min(at, len(content)) - len(stream.unused_data)


def _applied(delta: bytes, base: bytes, most: int) -> bytes:
    """The content that a delta makes of its base, as far as the delta can be read."""
    at = 0
    for _ in range(2):  # the sizes of the base and of the result
        while at < len(delta) and delta[at] & 128:
            at += 1
        at += 1
    content = bytearray()
    while at < len(delta) and len(content) <= most:
        code, at = delta[at], at + 1
        if code & 128:
            fields = [0] * 7
            for bit in range(7):
                if code >> bit & 1 and at < len(delta):
                    fields[bit], at = delta[at], at + 1
            offset = int.from_bytes(bytes(fields[:4]), "little")
            size = int.from_bytes(bytes(fields[4:]), "little") or 0x10000
            content += base[offset : offset + size]
        else:
            content += delta[at : at + code]
            at += code
    if len(content) > most:
        raise TooMuchToSearch
    return bytes(content)
