"""The folders of one attempt: workspace, HOME and temp folder.

Creating and removing some twenty files and folders costs more than running a small agent. So the folders of an attempt
that ended cleanly are *reset* rather than removed: added files are deleted, changed files are written again, and only
what is provably unchanged stays. Under a new name they serve the next attempt with the same template. If anything can't
be proven, everything is removed.
"""

# pathlib is slower than the system calls, of which there are many here.
# ruff: noqa: PTH102, PTH104, PTH108, PTH115, PTH211, PTH123

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeAlias

from demeanor.core.trees.tree_io import Stamp, stamp
from demeanor.sandboxes.host.copytree import SMALL, TemplateCopy, copy, copy_file, remove

WORKSPACE, HOME, TEMP = "workspace", "home", "tmp"

_TICK_NS = 20_000_000
"""The clock by which file systems date changes ticks at least this often."""

_FolderState: TypeAlias = tuple[int, int, int, tuple[str, ...]]


class AttemptDir:
    """One attempt's folders."""

    def __init__(self, path: str, template: TemplateCopy) -> None:
        self.path = path
        self.stamps: dict[str, Stamp] = {}
        self.settled_before = 0
        """A file changed before this time (ns) was not changed again in the same tick of the clock."""
        self._template = template
        self._folder_states: dict[str, _FolderState] = {}

    def create(self) -> None:
        """Create the folders, with a copy of the template as the workspace."""
        os.mkdir(self.path, 0o700)
        os.mkdir(f"{self.path}/{HOME}")
        os.mkdir(f"{self.path}/{TEMP}")
        self.stamps = copy(self._template, f"{self.path}/{WORKSPACE}")
        folders = ("", HOME, TEMP, WORKSPACE, *(f"{WORKSPACE}/{path}" for path in self._template.folders))
        self._folder_states = {folder: _folder_state(f"{self.path}/{folder}") for folder in folders}
        self.settled_before = time.time_ns() - _TICK_NS

    def rename(self, path: str) -> AttemptDir:
        """Rename the folder, so that no path remembered from an earlier attempt leads to it."""
        os.rename(self.path, path)
        self.path = path
        self.settled_before = time.time_ns() - _TICK_NS
        return self

    def exists(self) -> bool:
        """Whether the folder is still the one that was created."""
        try:
            return os.lstat(self.path).st_ino == self._folder_states[""][0]
        except OSError:
            return False

    def reset(self) -> bool:
        """Restore everything to its initial state; False when that can't be proven."""
        kept: set[str] = set()
        try:
            for folder, state in self._folder_states.items():
                if _folder_state(f"{self.path}/{folder}") != state:
                    return False
                self._clean(folder, kept)
            self._copy_missing(kept)
        except (OSError, _TooMuch):
            return False
        return True

    def _clean(self, folder: str, kept: set[str]) -> None:
        """Delete what was added to a folder or changed in it."""
        deleted = 0
        with os.scandir(f"{self.path}/{folder}") as items:
            for item in items:
                name = f"{folder}/{item.name}" if folder else item.name
                if name in self._folder_states:
                    continue
                if name.startswith(f"{WORKSPACE}/") and self._is_unchanged(name[len(WORKSPACE) + 1 :], item):
                    kept.add(name[len(WORKSPACE) + 1 :])
                    continue
                if not item.is_dir(follow_symlinks=False):
                    os.unlink(item.path)
                elif not remove(item.path, limit=SMALL):
                    raise _TooMuch
                deleted += 1
                if deleted > SMALL:
                    raise _TooMuch

    def _is_unchanged(self, path: str, item: os.DirEntry[str]) -> bool:
        """Whether an entry of the workspace is what was copied there."""
        if path in self._template.links:
            return item.is_symlink() and os.readlink(item.path) == self._template.links[path]
        if path not in self.stamps:
            return False
        status = item.stat(follow_symlinks=False)
        if status.st_nlink != 1 or stamp(status) != self.stamps[path]:
            return False
        if status.st_ctime_ns < self.settled_before:
            return True
        with open(item.path, "rb", buffering=0) as file:
            return file.read() == self._template.files[path].content

    def _copy_missing(self, kept: set[str]) -> None:
        """Copy the files that are missing."""
        workspace = f"{self.path}/{WORKSPACE}"
        for path in self._template.files.keys() - kept:
            self.stamps[path] = copy_file(self._template, path, workspace)
        for path in self._template.links.keys() - kept:
            os.symlink(self._template.links[path], f"{workspace}/{path}")


class _TooMuch(Exception):
    """More was left than is worth deleting one by one."""


def _folder_state(folder: str) -> _FolderState:
    """The state of a folder besides its entries."""
    status = os.lstat(folder)
    return status.st_ino, status.st_mode, status.st_uid, tuple(_attributes(folder, follow_symlinks=False))


def _no_attributes(folder: str, *, follow_symlinks: bool) -> list[str]:
    return []


_attributes: Callable[..., list[str]] = getattr(os, "listxattr", _no_attributes)
