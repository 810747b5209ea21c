"""The two storage formats of git objects, loose files and packs, read with a limit on what they unpack to."""

from __future__ import annotations

import io
import mmap
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from dulwich.pack import PackIndex

    from demeanor.core.trees.tree import Entry

MAX_OBJECT_BYTES = 64 * 2**20
"""The largest object that is read."""

_MAX_DELTAS = 4096
_KINDS = {1: "commit", 2: "tree", 3: "blob", 4: "tag"}
_OFS_DELTA, _REF_DELTA = 6, 7
_VERSIONED_INDEX = b"\377tOc"

Buffer: TypeAlias = "bytes | mmap.mmap"
StoredObject: TypeAlias = tuple[str, bytes]
"""Kind and content of an object, as stored; the hash is not verified."""


class DamagedObject(ValueError):
    """An object can't be unpacked, or is too large."""


def file_content(entry: Entry) -> Buffer | None:
    """The content of a file; None if it was not kept or is not a file."""
    content = entry.content if entry.content is not None else entry.spooled
    if isinstance(content, Path) and entry.size:
        with content.open("rb") as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return b"" if isinstance(content, Path) else content


def unpack_loose(stored: Buffer) -> StoredObject:
    """The object in a loose file."""
    head, zero, content = _inflate(stored, 0, MAX_OBJECT_BYTES).partition(b"\0")
    kind, _, size = head.partition(b" ")
    if not zero or size != b"%d" % len(content):
        raise DamagedObject("its header is wrong")
    return kind.decode("ascii", "replace"), content


@dataclass(frozen=True, kw_only=True, slots=True)
class Pack:
    """A pack with its index."""

    index: PackIndex
    """Where each object is."""

    content: Buffer
    """The pack itself."""

    def find(self, name: str) -> StoredObject | None:
        """The object that the index calls `name`; None if it has none."""
        offset = self._offset(bytes.fromhex(name))
        return None if offset is None else self._unpack(offset)

    def _offset(self, name: bytes) -> int | None:
        from dulwich.pack import PackFileDisappeared

        try:
            return self.index.object_offset(name)  # type: ignore[arg-type] # a NewType of bytes
        except KeyError:
            return None
        except (ValueError, TypeError, IndexError, struct.error, PackFileDisappeared) as error:
            raise DamagedObject(str(error)) from None

    def _unpack(self, offset: int) -> StoredObject:
        deltas: list[bytes] = []
        while len(deltas) <= _MAX_DELTAS:
            kind, size, start = self._header(offset)
            if kind in _KINDS:
                content = _inflate(self.content, start, size)
                for delta in reversed(deltas):
                    content = _apply(delta, content)
                return _KINDS[kind], content
            if kind == _OFS_DELTA:
                back, start = self._distance(start)
                base: int | None = offset - back
            elif kind == _REF_DELTA:
                base = self._offset(bytes(self.content[start : start + 20]))
                start += 20
            else:
                raise DamagedObject(f"unknown type {kind}")
            if base is None or not 0 < base < len(self.content):
                raise DamagedObject("the base of a delta is missing")
            deltas.append(_inflate(self.content, start, size))
            offset = base
        raise DamagedObject("too many deltas")

    def _header(self, offset: int) -> tuple[int, int, int]:
        """Type, size and where the content begins."""
        byte = self._byte(offset)
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 128:
            offset += 1
            byte = self._byte(offset)
            size |= (byte & 127) << shift
            shift += 7
            if size > MAX_OBJECT_BYTES:
                raise DamagedObject("too large")
        return kind, size, offset + 1

    def _distance(self, offset: int) -> tuple[int, int]:
        byte = self._byte(offset)
        value = byte & 127
        while byte & 128 and value < len(self.content):
            offset += 1
            byte = self._byte(offset)
            value = (value + 1) << 7 | byte & 127
        return value, offset + 1

    def _byte(self, offset: int) -> int:
        if not 0 <= offset < len(self.content):
            raise DamagedObject("the pack is too short")
        return self.content[offset]


def open_pack(path: str, index: Buffer, content: Buffer) -> Pack | None:
    """A pack, or None if its index can't be read."""
    from dulwich.object_format import SHA1
    from dulwich.pack import PackIndex1, PackIndex2

    closed = io.BytesIO()  # an index that can't be read would complain that its file is open
    closed.close()
    kind = PackIndex2 if index[:4] == _VERSIONED_INDEX else PackIndex1
    try:
        return Pack(index=kind(path, SHA1, file=closed, contents=bytes(index)), content=content)
    except (ValueError, TypeError, KeyError, AssertionError, IndexError, struct.error):
        return None


def _inflate(stored: Buffer, start: int, size: int) -> bytes:
    """What a compressed stream contains: at most `size` bytes."""
    stream = zlib.decompressobj()
    try:
        with memoryview(stored) as view, view[start:] as rest:
            content = stream.decompress(rest, size + 1)
    except zlib.error as error:
        raise DamagedObject(str(error)) from None
    if len(content) > size:
        raise DamagedObject("too large")
    return content


def _apply(delta: bytes, base: bytes) -> bytes:
    from dulwich.errors import ApplyDeltaError
    from dulwich.pack import apply_delta

    at, size, shift = 0, 0, 0
    for _ in range(2):  # the sizes of the base and of the result
        size, shift = 0, 0
        while True:
            if at >= len(delta) or shift > 63:
                raise DamagedObject("a delta is too short")
            size |= (delta[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if not delta[at - 1] & 128:
                break
    if size > MAX_OBJECT_BYTES:
        raise DamagedObject("too large")
    try:
        return b"".join(apply_delta(base, delta))
    except (ApplyDeltaError, ValueError) as error:
        raise DamagedObject(str(error)) from None
