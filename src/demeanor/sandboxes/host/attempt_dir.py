"""The folders of one attempt: workspace, HOME and temp folder.

To make and remove some twenty files and folders costs more than to run a small agent. So a place in which an attempt
ended in peace is *reset* rather than removed: what was added is deleted, what was touched is written anew, and only
what provably is as it was copied remains. Under a new name it serves the next attempt that starts from the same
template. Where anything looks odd, the place is removed as a whole.
"""

# pathlib costs more than the system calls that are made here in large numbers.
# ruff: noqa: PTH102, PTH104, PTH108, PTH115, PTH211, PTH123

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeAlias

from demeanor.core.tree_io import Stamp, stamp
from demeanor.sandboxes.host.copytree import SMALL, TemplateCopy, copy, copy_piece, remove

WORKSPACE, HOME, TEMP = "workspace", "home", "tmp"

_TICK_NS = 20_000_000
"""File systems date changes by a clock that ticks at least this often."""

_Nature: TypeAlias = tuple[int, int, int, tuple[str, ...]]


class AttemptDir:
    """One attempt's folders."""

    def __init__(self, path: str, master: TemplateCopy) -> None:
        self.path = path
        self.stamps: dict[str, Stamp] = {}
        self.settled_before = 0
        """A file changed before this moment (ns) was not changed again in the same tick of the clock."""
        self._master = master
        self._natures: dict[str, _Nature] = {}

    def make(self) -> None:
        """Make the folders, with a copy of the master as workspace."""
        os.mkdir(self.path, 0o700)
        os.mkdir(f"{self.path}/{HOME}")
        os.mkdir(f"{self.path}/{TEMP}")
        self.stamps = copy(self._master, f"{self.path}/{WORKSPACE}")
        folders = ("", HOME, TEMP, WORKSPACE, *(f"{WORKSPACE}/{path}" for path in self._master.folders))
        self._natures = {folder: _nature(f"{self.path}/{folder}") for folder in folders}
        self.settled_before = time.time_ns() - _TICK_NS

    def moved(self, path: str) -> AttemptDir:
        """The same under another name: nothing that somebody remembers of the old one leads here."""
        os.rename(self.path, path)
        self.path = path
        self.settled_before = time.time_ns() - _TICK_NS
        return self

    def still_there(self) -> bool:
        """Whether nobody has put something else in its place."""
        try:
            return os.lstat(self.path).st_ino == self._natures[""][0]
        except OSError:
            return False

    def reset(self) -> bool:
        """Bring everything back to how it was made; False where that can't be proven."""
        kept: set[str] = set()
        try:
            for folder, nature in self._natures.items():
                if _nature(f"{self.path}/{folder}") != nature:
                    return False
                self._tidy(folder, kept)
            self._complete(kept)
        except (OSError, _Odd):
            return False
        return True

    def _tidy(self, folder: str, kept: set[str]) -> None:
        """Delete what does not belong in a folder, or is not as it was."""
        deleted = 0
        with os.scandir(f"{self.path}/{folder}") as items:
            for item in items:
                name = f"{folder}/{item.name}" if folder else item.name
                if name in self._natures:
                    continue
                if name.startswith(f"{WORKSPACE}/") and self._untouched(name[len(WORKSPACE) + 1 :], item):
                    kept.add(name[len(WORKSPACE) + 1 :])
                    continue
                if not item.is_dir(follow_symlinks=False):
                    os.unlink(item.path)
                elif not remove(item.path, at_most=SMALL):
                    raise _Odd
                deleted += 1
                if deleted > SMALL:
                    raise _Odd

    def _untouched(self, path: str, item: os.DirEntry[str]) -> bool:
        """Whether something in the workspace is what was copied there."""
        if path in self._master.links:
            return item.is_symlink() and os.readlink(item.path) == self._master.links[path]
        if path not in self.stamps:
            return False
        found = item.stat(follow_symlinks=False)
        if found.st_nlink != 1 or stamp(found) != self.stamps[path]:
            return False
        if found.st_ctime_ns < self.settled_before:
            return True
        with open(item.path, "rb", buffering=0) as file:
            return file.read() == self._master.pieces[path].content

    def _complete(self, kept: set[str]) -> None:
        """Copy what is missing."""
        workspace = f"{self.path}/{WORKSPACE}"
        for path in self._master.pieces.keys() - kept:
            self.stamps[path] = copy_piece(self._master, path, workspace)
        for path in self._master.links.keys() - kept:
            os.symlink(self._master.links[path], f"{workspace}/{path}")


class _Odd(Exception):
    """More was left here than is worth tidying up."""


def _nature(folder: str) -> _Nature:
    """What makes a folder what it is, besides what lies in it."""
    found = os.lstat(folder)
    return found.st_ino, found.st_mode, found.st_uid, tuple(_attributes(folder, follow_symlinks=False))


def _no_attributes(folder: str, *, follow_symlinks: bool) -> list[str]:
    return []


_attributes: Callable[..., list[str]] = getattr(os, "listxattr", _no_attributes)
