"""Read files below a folder that an agent could write to, without following symbolic links."""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from pathlib import Path

from demeanor.core.trees.open_files import out_of_files

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def read_beneath(folder: Path | int, path: str, *, at_most: int) -> bytes | None:
    """The first `at_most` bytes of a regular file; None if there is none. `folder` may be a file descriptor."""
    *parents, name = path.split("/")
    opened: list[int] = []
    try:
        if isinstance(folder, int):
            place = folder
        else:
            opened.append(place := os.open(folder, _FOLDER))
        for part in parents:
            opened.append(place := os.open(part, _FOLDER, dir_fd=place))
        opened.append(file := os.open(name, _FILE, dir_fd=place))
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return None
        return _read(file, at_most)
    except OSError as error:
        if out_of_files(error):
            raise
        return None
    finally:
        for handle in opened:
            os.close(handle)


def _read(file: int, at_most: int) -> bytes:
    pieces = []
    while at_most > 0 and (piece := os.read(file, min(at_most, 2**20))):
        pieces.append(piece)
        at_most -= len(piece)
    return b"".join(pieces)


def find_beneath(folder: Path | int, pattern: str, *, at_most: int) -> tuple[str, ...]:
    """The first `at_most` paths that match a pattern, sorted; `*` matches within one path component."""
    if "*" not in pattern:
        return (pattern,)
    folders = [""]
    for part in pattern.split("/"):
        folders = [f"{above}{name}/" for above in folders for name in _names(folder, above, part)][:at_most]
    return tuple(path.removesuffix("/") for path in folders)


def _names(folder: Path | int, above: str, part: str) -> list[str]:
    """The matching names in a folder; links to folders are not followed."""
    if "*" not in part:
        return [part]
    opened: list[int] = []
    try:
        opened.append(place := os.dup(folder) if isinstance(folder, int) else os.open(folder, _FOLDER))
        for step in above.split("/")[:-1]:
            opened.append(place := os.open(step, _FOLDER, dir_fd=place))
        return sorted(name for name in os.listdir(place) if fnmatchcase(name, part))  # noqa: PTH208 - an open folder
    except OSError as error:
        if out_of_files(error):
            raise
        return []
    finally:
        for handle in opened:
            os.close(handle)
