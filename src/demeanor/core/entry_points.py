"""The entry points of installed packages.

`importlib.metadata` reads the metadata of every installed package, which takes longer than a short trial. So the files
with entry points are searched for the name of the group first: most of the time, no package has it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_METADATA = (".dist-info", ".egg-info")


def installed(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group."""
    folders = tuple(Path(folder) for folder in sys.path)
    archives = any(folder.is_file() for folder in folders)  # which only importlib.metadata can read
    if not archives and not any(group.encode() in text for text in _texts(folders)):
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


@lru_cache(maxsize=1)
def _texts(folders: tuple[Path, ...]) -> tuple[bytes, ...]:
    """The files `entry_points.txt` in these folders that may name a group of Demeanor."""
    return tuple(text for folder in folders for text in _in_folder(folder) if b"demeanor." in text)


def _in_folder(folder: Path) -> Iterator[bytes]:
    with suppress(OSError):
        for about in folder.iterdir():
            if about.suffix in _METADATA:
                with suppress(OSError):
                    yield (about / "entry_points.txt").read_bytes()
