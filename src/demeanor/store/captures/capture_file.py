"""The raw captures of a run, in one file that only grows: each a compressed line of its own."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

from demeanor.core.errors import StoreError


def append_whole(file: int, data: bytes) -> None:
    """Append all of `data`, or nothing: where the disk is full, what was written of it is taken back."""
    size = os.fstat(file).st_size
    left = memoryview(data)
    try:
        while left:
            left = left[os.write(file, left) :]
    except OSError:
        os.ftruncate(file, size)
        raise


class CaptureFile:
    """A file of captures. Concatenated, the compressed lines are a compressed file again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: int | None = None
        self._turn = threading.Lock()

    def append(self, line: bytes) -> tuple[int, int]:
        """Keep one capture, a line; offset and length, to find it again."""
        packed = gzip.compress(line, compresslevel=1, mtime=0)
        with self._turn:
            if self._file is None:
                self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            offset = os.lseek(self._file, 0, os.SEEK_END)
            append_whole(self._file, packed)
        return offset, len(packed)

    def packed(self, place: tuple[int, int]) -> bytes:
        """One capture, compressed as it lies there."""
        offset, length = place
        try:
            with self.path.open("rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError as error:
            raise StoreError(f"{self.path}: the capture at byte {offset} can't be read: {error}") from None

    def read(self, place: tuple[int, int]) -> bytes:
        """One capture again."""
        offset, _ = place
        try:
            return gzip.decompress(self.packed(place))
        except (OSError, EOFError, ValueError) as error:
            raise StoreError(f"{self.path}: the capture at byte {offset} can't be read: {error}") from None

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
