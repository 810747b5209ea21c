"""Read the upper layer of an overlay file system: the changes of a workspace over its starting state.

In the upper layer, a character device 0:0 marks a deleted name, and an extended attribute marks a folder that hides
all of the lower folder's content.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping

from demeanor.core.trees.tree import Entry

_OPAQUE = "user.overlay.opaque"


class Layer:
    """The lower layer's entries and the deletions that a scan of the upper layer has found."""

    def __init__(self, below: Mapping[str, Entry]) -> None:
        self._below = below
        self._folders: set[str] = set()
        self._gone: set[str] = set()

    def deletes(self, path: str, status: os.stat_result) -> bool:
        """Whether this is a whiteout, the mark of a deleted file."""
        if not stat.S_ISCHR(status.st_mode) or status.st_rdev != 0:
            return False
        self._gone.add(path)
        return True

    def enter(self, path: str, handle: int) -> None:
        """Record an open folder of the upper layer."""
        self._folders.add(path)
        try:
            if os.getxattr(handle, _OPAQUE) == b"y":
                self._gone.add(path)
        except OSError:
            return  # not opaque: the lower folder's content stays visible

    def over(self, entries: Mapping[str, Entry]) -> dict[str, Entry]:
        """The merged view: the upper layer's entries and the visible ones of the lower layer."""
        hidden = self._gone | {path for path, entry in entries.items() if entry.kind != "folder"}
        through = {
            path: entry
            for path, entry in self._below.items()
            if path not in self._folders and path not in hidden and hidden.isdisjoint(parents(path))
        }
        return {**through, **entries}


def parents(path: str) -> Iterator[str]:
    """The folders above a path, the innermost first."""
    while path := path.rpartition("/")[0]:
        yield path
