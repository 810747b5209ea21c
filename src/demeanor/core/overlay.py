"""A workspace that is kept as changes over its starting state: the upper layer of an overlay file system.

In there, a device with the numbers 0:0 says that a name is gone, and an attribute on a folder says that nothing of the
folder below is left in it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping

from demeanor.core.tree import Entry

_OPAQUE = "user.overlay.opaque"


class Layer:
    """What is below a layer, and what a walk through the layer has found to be gone."""

    def __init__(self, below: Mapping[str, Entry]) -> None:
        self._below = below
        self._folders: set[str] = set()
        self._gone: set[str] = set()

    def deletes(self, path: str, found: os.stat_result) -> bool:
        """Whether this is no file but the word that there is none any more."""
        if not stat.S_ISCHR(found.st_mode) or found.st_rdev != 0:
            return False
        self._gone.add(path)
        return True

    def enter(self, path: str, handle: int) -> None:
        """Take note of a folder of the layer, which is open."""
        self._folders.add(path)
        try:
            if os.getxattr(handle, _OPAQUE) == b"y":
                self._gone.add(path)
        except OSError:
            return  # it has no such attribute: what is below shows through

    def over(self, entries: Mapping[str, Entry]) -> dict[str, Entry]:
        """Everything that is there: what the layer has, and what shows through it."""
        hidden = self._gone | entries.keys()
        through = {
            path: entry
            for path, entry in self._below.items()
            if path not in self._folders and path not in hidden and hidden.isdisjoint(_parents(path))
        }
        return {**through, **entries}


def _parents(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path
