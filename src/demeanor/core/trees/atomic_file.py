"""Writes files atomically: a reader sees the old content or the new one, and a failure leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it replaces `path` if the block succeeds and is removed if not.

    The name is unique for each call, so that threads and processes can write the same file at once.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}")
    try:
        yield temporary
        temporary.replace(path)
    finally:
        with suppress(OSError):  # whatever stopped the writing is reported already
            temporary.unlink()


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a file; text is encoded as UTF-8."""
    with atomic_file(path) as temporary:
        temporary.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def write_pieces(path: Path, pieces: Iterable[str]) -> None:
    """Write a large text piece by piece, as UTF-8, so that it is never in memory as a whole."""
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.writelines(pieces)


def write_output(path: Path, content: str) -> None:
    """Write a file that the user names. A link is followed; a device or pipe such as /dev/stdout is not replaced."""
    if is_stream(path):
        path.write_bytes(content.encode("utf-8"))
    else:
        write_atomically(path.resolve(), content)


def is_stream(path: Path) -> bool:
    """Whether a path is a device, a pipe or a socket, or a link to one, which must not be replaced by a file."""
    return path.exists() and not path.is_file() and not path.is_dir()
