"""The entry points of installed packages.

`importlib.metadata` reads the metadata of every installed package, which takes longer than a short trial. So the files
with entry points are searched for the name of the group first: most of the time, no package has it.
"""

from __future__ import annotations

import os
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
    archives = any(Path(folder).is_file() for folder in sys.path)  # which only importlib.metadata can read
    if not archives and not any(group.encode() in text for text in _texts(tuple(sys.path))):
        return ()
    from importlib.metadata import entry_points

    return tuple(entry_points(group=group))


@lru_cache(maxsize=1)
def _texts(folders: tuple[str, ...]) -> tuple[bytes, ...]:
    """The files `entry_points.txt` in these folders that may name a group of Demeanor."""
    return tuple(text for folder in folders for text in _in_folder(folder) if b"demeanor." in text)


def _in_folder(folder: str) -> Iterator[bytes]:
    with suppress(OSError), os.scandir(folder or ".") as found:
        for entry in found:
            if entry.name.endswith(_METADATA):
                with suppress(OSError):
                    yield Path(entry.path, "entry_points.txt").read_bytes()
