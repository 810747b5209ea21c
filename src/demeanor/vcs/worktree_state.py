"""The state of a working tree, to tell whether it has to be built again.

Sources are compared by content: the commit, uncommitted changes and untracked files. Files that git ignores are mostly
what a build makes. There can be many, so they are compared by size and time of change: a deleted or replaced program is
noticed, also if the sources are the same as before.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.trees.git import GitError, git

CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis"}
"""Folders that change whenever something runs, and that no agent is started from."""

_STATUS = (
    "--no-optional-locks",
    "status",
    "--porcelain=v2",
    "--branch",
    "-z",
    "--no-renames",
    "--untracked-files=all",
    "--ignored=matching",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeState:
    """Two hashes; equal states mean that nothing has changed."""

    sources: str
    """Of everything that git does not ignore, by content."""

    ignored: str
    """Of the ignored files, by size and time of change."""


def tree_state(
    root: Path, *, leave_out: Collection[Path] = (), is_own: Callable[[Path], bool] = lambda _: False
) -> TreeState | None:
    """The state of the repository that contains `root`, without the paths in `leave_out` and sources that are our own.

    None if it can't be told: there is no repository, or a submodule or a repository inside has changes.
    """
    try:
        top = Path(git(root, "rev-parse", "--show-toplevel").rstrip("\n")).resolve()
        apart = frozenset(str(path.resolve()) for path in leave_out)
        return _state(top, git(top, *_STATUS).split("\0"), apart, is_own)
    except (GitError, OSError, _Unknowable):
        return None


def _state(top: Path, lines: Iterable[str], apart: Collection[str], is_own: Callable[[Path], bool]) -> TreeState:
    sources, ignored = hashlib.sha256(), hashlib.sha256()
    for line in sorted(lines):
        if "\N{REPLACEMENT CHARACTER}" in line:  # a name that is not UTF-8
            raise _Unknowable
        path = top / path_of(line)
        if line.startswith("# branch.oid"):
            sources.update(line.encode())
        elif not line or line.startswith("#") or _is_apart(path, apart):
            continue
        elif line.startswith("! "):
            for entry in _files_below(path, apart):
                ignored.update(entry)
        elif not is_own(path):
            sources.update(b"\0" + line.encode() + b"\0" + _content(path))
    return TreeState(sources=sources.hexdigest(), ignored=ignored.hexdigest())


class _Unknowable(Exception):
    """An entry whose content can't be compared."""


def path_of(line: str) -> str:
    """The path in a line of `git status --porcelain=v2 -z`."""
    fields = {"1": 8, "u": 10, "?": 1, "!": 1}.get(line[:1], 0)
    return line.split(" ", fields)[-1] if fields else ""


def _is_apart(path: Path, apart: Collection[str]) -> bool:
    return any(str(other) in apart for other in (path, *path.parents))


def _content(path: Path) -> bytes:
    """A hash of a file that is changed or untracked; empty if it is deleted."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return b""
    if stat.S_ISLNK(mode):
        return b"link " + os.fsencode(path.readlink())
    if not stat.S_ISREG(mode):
        raise _Unknowable
    with path.open("rb") as file:
        return f"{mode & 0o111:o} {hashlib.file_digest(file, 'sha256').hexdigest()}".encode()


def _files_below(path: Path, apart: Collection[str]) -> Iterator[bytes]:
    """A line for each file in a folder, or for the file itself, without caches."""
    if path.name in CACHES or str(path) in apart:
        return
    if path.is_dir() and not path.is_symlink():
        for entry in sorted(path.iterdir()):
            yield from _files_below(entry, apart)
    else:
        status = path.lstat()
        yield os.fsencode(path) + f"\0{status.st_mode:o} {status.st_size} {status.st_mtime_ns}\0".encode()
