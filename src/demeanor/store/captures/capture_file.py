"""The raw captures of a run in one append-only file, each a separately compressed line."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

from demeanor.core.values.errors import StoreError


def append_whole(file: int, data: bytes) -> None:
    """Append all of `data` or nothing: if the disk is full, a partial write is undone."""
    size = os.fstat(file).st_size
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        os.ftruncate(file, size)
        raise


class CaptureFile:
    """A file of captures. The compressed lines together are a valid gzip file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._lock = threading.Lock()

    def append(self, line: bytes) -> tuple[int, int]:
        """Append one capture, a line; returns its offset and length."""
        return self.append_packed(gzip.compress(line, compresslevel=1, mtime=0))

    def append_packed(self, packed: bytes) -> tuple[int, int]:
        """Append one compressed capture; returns its offset and length."""
        with self._lock:
            if self._file is None:
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            offset = os.lseek(self._file, 0, os.SEEK_END)
            append_whole(self._file, packed)
        return offset, len(packed)

    def packed(self, position: tuple[int, int]) -> bytes:
        """One compressed capture."""
        offset, length = position
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError as error:
            raise StoreError(f"{self.path}: the capture at byte {offset} can't be read: {error}") from None

    def read(self, position: tuple[int, int]) -> bytes:
        """One capture, uncompressed."""
        offset, _ = position
        try:
            return gzip.decompress(self.packed(position))
        except (OSError, EOFError, ValueError) as error:
            raise StoreError(f"{self.path}: the capture at byte {offset} is damaged: {error}") from None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
