"""Read a folder into a Tree, and write a Tree to a folder.

An agent wrote the folder, so its content is untrusted: links are never followed, FIFOs and devices are never opened,
names may be any bytes, a file may be ten gigabytes large, and there may be a million files. Memory and time are
bounded; the tree's gaps say what was left out.
"""

# pathlib costs more than the many system calls made here.
# ruff: noqa: PTH103, PTH123, PTH211

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from demeanor.core.overlay import Layer
from demeanor.core.tree import Entry, Tree

Stamp: TypeAlias = tuple[int, int, int, int]
"""Changes when the file does: inode, size, mtime and ctime in nanoseconds."""

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_EDGE = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Keep:
    """Limits on how much of a folder is kept."""

    file_bytes: int = 8 * 2**20
    """Larger files are recorded without content."""

    total_bytes: int = 64 * 2**20
    """Once this much content is kept, further files are recorded without content."""

    entries: int = 100_000
    """Further files and folders are left out."""

    depth: int = 100
    """More deeply nested folders are left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Known:
    """What was recorded about a folder's files when they were created, so that unchanged ones need not be read."""

    entries: Mapping[str, Entry] = field(default_factory=dict)
    """The original entries."""

    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    """The original stamps."""

    settled_before: int = 0
    """A ctime (ns) from this moment on is too recent to rule out a change within the same clock tick."""


class TooMany(Exception):
    """A scan found more files and folders than `at_most`."""


def stamp(found: os.stat_result) -> Stamp:
    """The stamp of one file."""
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def tree_path_problem(path: str) -> str | None:
    """Why `path` is not a valid, normalised path of a tree entry; None if it is."""
    if not path:
        return "is empty"
    if path.startswith("/"):
        return "is absolute"
    parts = path.split("/")
    if ".." in parts:
        return "leads out of the folder"
    if "" in parts or "." in parts:
        return "has an empty part or a '.' in it"
    if "\0" in path or any("\ud800" <= letter <= "\udfff" for letter in path):
        return "has a character that is not allowed in file names"
    if any(len(part.encode()) > 255 for part in parts):
        return "has a part longer than 255 bytes"
    return None


def scan(
    folder: Path,
    *,
    known: Known | None = None,
    keep: Keep | None = None,
    at_most: int | None = None,
    in_place: bool = False,
    layer: Layer | None = None,
) -> Tree:
    """The current content of `folder`. With `in_place`, for a folder of our own that never changes, entries refer to
    the files instead of holding their content.

    A file with a known stamp reuses the known entry. A file too large to keep has no content, and its sha256 covers
    its size, mtime, beginning and end, so that it equals no other file; if a known file has the same size, the whole
    file is hashed to detect a change. Raises TooMany beyond `at_most` files and folders. If `folder` is the upper
    layer of an overlay, `layer` describes what is below, and the tree is the merged view.
    """
    scanner = _Scanner(known or Known(), keep or Keep(), at_most, folder if in_place else None, layer)
    try:
        root = os.open(folder, _OPEN_FOLDER)
    except OSError as error:
        return Tree(gaps=(f"the folder can't be read: {error.strerror}",))
    try:
        scanner.folder(root, "", 0)
    finally:
        os.close(root)
    entries = layer.over(scanner.entries) if layer else scanner.entries
    return Tree(entries=entries, gaps=scanner.all_gaps())


def restore(tree: Tree, into: Path) -> None:
    """Write `tree` into the empty folder `into`. Links are created last, so that nothing is written through one."""
    made = {""}
    links = []
    for path, entry in sorted(tree.entries.items()):
        _check_place(path, tree)
        if entry.kind == "other":
            continue
        parent = path.rpartition("/")[0]
        if parent not in made:
            os.makedirs(into / parent, exist_ok=True)
            made.add(parent)
        if entry.kind == "link":
            links.append((path, entry.target or ""))
            continue
        handle = os.open(into / path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755 if entry.executable else 0o644)
        with open(handle, "wb") as file:
            file.write(entry.read() or b"")
    if ".git/HEAD" in tree.entries:
        # A tree has no empty folders, but git only recognises a repository that has these two.
        (into / ".git/objects").mkdir(exist_ok=True)
        (into / ".git/refs").mkdir(exist_ok=True)
    for path, target in links:
        os.symlink(target, into / path)


def _check_place(path: str, tree: Tree) -> None:
    problem = tree_path_problem(path)
    if problem:
        raise ValueError(f"path {path!r} {problem}")
    parent = path.rpartition("/")[0]
    while parent:
        if parent in tree.entries:
            raise ValueError(f"path {path!r} is below {parent!r}, which is not a folder")
        parent = parent.rpartition("/")[0]


class _Scanner:
    """The state of one walk through a folder."""

    def __init__(self, known: Known, keep: Keep, at_most: int | None, place: Path | None, layer: Layer | None) -> None:
        self.entries: dict[str, Entry] = {}
        self._gaps: list[str] = []
        self._known = known
        self._keep = keep
        self._at_most = at_most
        self._place = place
        self._layer = layer
        self._seen = 0
        self._kept = 0
        self._not_kept = 0

    def all_gaps(self) -> tuple[str, ...]:
        """What was left out."""
        gaps = self._gaps[:20]
        if len(self._gaps) > 20:
            gaps.append(f"{len(self._gaps) - 20} more gaps like these")
        if self._not_kept:
            gaps.append(
                f"{self._not_kept} files have no content here: the limit of {self._keep.total_bytes} bytes was reached"
            )
        if self._seen > self._keep.entries:
            gaps.append(f"more than {self._keep.entries} files and folders; the rest was left out")
        return tuple(gaps)

    def folder(self, handle: int, prefix: str, depth: int) -> None:
        """Scan everything below one open folder."""
        with os.scandir(handle) as items:
            for item in items:
                self._seen += 1
                if self._at_most is not None and self._seen > self._at_most:
                    raise TooMany
                if self._seen > self._keep.entries:
                    return
                path = self._path(prefix, item.name)
                try:
                    found = item.stat(follow_symlinks=False)
                except OSError as error:
                    self._gaps.append(f"{path}: {error.strerror}")
                    continue
                if self._layer and self._layer.deletes(path, found):
                    continue
                if stat.S_ISDIR(found.st_mode):
                    self._below(handle, item.name, path, depth)
                elif path in self.entries:
                    self._gaps.append(f"{path}: two names look the same after escaping; one was left out")
                else:
                    self.entries[path] = self._entry(handle, item.name, path, found)

    def _path(self, prefix: str, name: str) -> str:
        try:
            name.encode()
        except UnicodeEncodeError:
            name = readable(name)
            self._gaps.append(f"{prefix}{name}: the name is not valid UTF-8; it is shown with escapes")
        return prefix + name

    def _below(self, handle: int, name: str, path: str, depth: int) -> None:
        if depth >= self._keep.depth:
            self._gaps.append(f"{path}: nested too deeply; its content was left out")
            return
        try:
            inner = _open_folder(name, handle)
        except OSError as error:
            self._gaps.append(f"{path}: {error.strerror}")
            return
        try:
            if self._layer:
                self._layer.enter(path, inner)
            self.folder(inner, f"{path}/", depth + 1)
        finally:
            os.close(inner)

    def _entry(self, handle: int, name: str, path: str, found: os.stat_result) -> Entry:
        known = self._known
        if known.stamps.get(path) == stamp(found) and found.st_ctime_ns < known.settled_before:
            return known.entries[path]
        if stat.S_ISLNK(found.st_mode):
            target = readable(os.readlink(name, dir_fd=handle))
            return Entry(kind="link", size=found.st_size, target=target, sha256=_hash(target.encode()))
        if not stat.S_ISREG(found.st_mode):
            return Entry(kind="other", size=found.st_size)
        executable = bool(found.st_mode & stat.S_IXUSR)
        try:
            digest, content = self._content(handle, name, path, found)
        except OSError as error:
            self._gaps.append(f"{path}: {error.strerror}")
            return Entry(kind="file", size=found.st_size, executable=executable)
        before = known.entries.get(path)
        if before is not None and (before.sha256, before.executable) == (digest, executable):
            return before
        if isinstance(content, bytes):
            self._kept += len(content)
        return Entry(kind="file", size=found.st_size, executable=executable, sha256=digest, content=content)

    def _content(self, handle: int, name: str, path: str, found: os.stat_result) -> tuple[str, bytes | Path | None]:
        """A file's sha256 and, if it is to be kept, its content."""
        before = self._known.entries.get(path)
        keep = found.st_size <= self._keep.file_bytes and self._kept + found.st_size <= self._keep.total_bytes
        file = _open_file(name, handle)
        try:
            if self._place:
                return _hash_whole(file), self._place / path
            if keep:
                content = _read(file, found.st_size)
                return _hash(content), content
            if before is not None and before.size == found.st_size:
                return _hash_whole(file), None
            self._not_kept += found.st_size <= self._keep.file_bytes
            return _hash_edges(file, found), None
        finally:
            os.close(file)


def readable(name: str) -> str:
    """`name` with every byte that is not UTF-8 shown as \\xNN."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def _open_folder(name: str, handle: int) -> int:
    try:
        return os.open(name, _OPEN_FOLDER, dir_fd=handle)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=handle)
        return os.open(name, _OPEN_FOLDER, dir_fd=handle)


def _open_file(name: str, handle: int) -> int:
    try:
        return os.open(name, _OPEN_FILE, dir_fd=handle)
    except PermissionError:
        os.chmod(name, 0o600, dir_fd=handle)
        return os.open(name, _OPEN_FILE, dir_fd=handle)


def _read(file: int, size: int) -> bytes:
    """At most `size` bytes, even if the file grows meanwhile."""
    first = os.read(file, size)
    if len(first) == size:
        return first
    parts = [first]
    while parts[-1]:
        parts.append(os.read(file, size))
    return b"".join(parts)[:size]


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _hash_whole(file: int) -> str:
    digest = hashlib.sha256()
    while piece := os.read(file, 2**20):
        digest.update(piece)
    return digest.hexdigest()


def _hash_edges(file: int, found: os.stat_result) -> str:
    digest = hashlib.sha256(f"edges {found.st_size} {found.st_mtime_ns} ".encode())
    digest.update(os.pread(file, _EDGE, 0))
    digest.update(os.pread(file, _EDGE, max(0, found.st_size - _EDGE)))
    return digest.hexdigest()
