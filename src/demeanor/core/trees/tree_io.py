"""Read a folder into a Tree; core/trees/tree_restore.py writes it to a folder again.

An agent wrote the folder, so its content is untrusted: links are never followed, FIFOs and devices are never opened,
names may be any bytes, a file may be ten gigabytes large, and there may be a million files. Memory and time are
bounded; the tree's gaps say what was left out.
"""

# pathlib costs more than the many system calls made here.

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from demeanor.core.text.wording import count
from demeanor.core.trees.open_files import out_of_files
from demeanor.core.trees.overlay import Layer, parents
from demeanor.core.trees.tree import Entry, Tree, is_git, parent_folders

Stamp: TypeAlias = tuple[int, int, int, int]
"""Changes when the file does: inode, size, mtime and ctime in nanoseconds."""

_OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_EDGE = 4096
_OVERLAY = "user.overlay."
_MAX_ATTRIBUTES = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class Keep:
    """Limits on how much of a folder is kept."""

    file_bytes: int = 8 * 2**20
    """Larger files are recorded without content."""

    total_bytes: int = 64 * 2**20
    """Once this much content is kept, further files are recorded without content."""

    spooled_bytes: int = 2**30
    """As much of the files without content is copied until the attempt is judged, and hashed as a whole."""

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
    """A scan with `at_most` found more files and folders than that, or a file that takes long to copy."""


def stamp(status: os.stat_result) -> Stamp:
    """The stamp of one file."""
    return (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


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
    spool: Path | None = None,
) -> Tree:
    """The current content of `folder`. With `in_place`, for a folder of our own that never changes, entries refer to
    the files instead of holding their content.

    A file with a known stamp reuses the known entry. A file too large to keep has no content; it is copied to the
    folder `spool`, if there is one. Beyond the limit for that, its sha256 covers its size, mtime, beginning and end, so
    that it equals no other file; if a known file has the same size, the whole file is hashed to detect a change. Raises
    TooMany beyond `at_most` files and folders, or if a file has to be copied then. If `folder` is the upper layer of an
    overlay, `layer` describes what is below, and the tree is the merged view.
    """
    scanner = _Scanner(known or Known(), keep or Keep(), at_most, folder if in_place else None, layer, spool)
    try:
        root = os.open(folder, _OPEN_FOLDER)
    except OSError as error:
        if out_of_files(error):
            raise
        return Tree(gaps=(f"the folder can't be read: {error.strerror}",))
    try:
        scanner.folder(root, "", 0)
    finally:
        os.close(root)
    entries = layer.over(scanner.entries) if layer else scanner.entries
    return Tree(entries=_only_empty(entries), gaps=scanner.all_gaps(), attributes=scanner.attributes)


def _only_empty(entries: dict[str, Entry]) -> dict[str, Entry]:
    """The entries without folders that are not empty: the layers of an overlay may both have something in a folder."""
    folders = [path for path, entry in entries.items() if entry.kind == "folder"]
    if folders:
        full = parent_folders({path: entry for path, entry in entries.items() if entry.kind != "folder"})
        full |= {parent for path in folders for parent in parents(path)}
        entries = {path: entry for path, entry in entries.items() if entry.kind != "folder" or path not in full}
    return entries


class _Scanner:
    """The state of one walk through a folder."""

    def __init__(
        self,
        known: Known,
        keep: Keep,
        at_most: int | None,
        place: Path | None,
        layer: Layer | None,
        spool: Path | None,
    ) -> None:
        self.entries: dict[str, Entry] = {}
        self.attributes: dict[str, bytes] = {}
        self._gaps: list[str] = []
        self._known = known
        self._keep = keep
        self._at_most = at_most
        self._place = place
        self._layer = layer
        self._spool = spool
        self._seen = 0
        self._kept = 0
        self._spooled = 0

    def all_gaps(self) -> tuple[str, ...]:
        """What was left out."""
        gaps = self._gaps[:20]
        if len(self._gaps) > 20:
            gaps.append(f"{count(len(self._gaps) - 20, 'more gap')} like these")
        if self._seen > self._keep.entries:
            gaps.append(f"more than {self._keep.entries} entries (files and folders); the rest was left out")
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
                    status = item.stat(follow_symlinks=False)
                except OSError as error:
                    self._gaps.append(f"{path}: {error.strerror}")
                    continue
                if self._layer and self._layer.deletes(path, status):
                    continue
                if stat.S_ISDIR(status.st_mode):
                    self._below(handle, item.name, path, depth)
                elif path in self.entries:
                    self._gaps.append(f"{path}: two names look the same after escaping; one was left out")
                else:
                    self.entries[path] = self._entry(handle, item.name, path, status)

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
            self._unreadable(path, error)
            return
        try:
            self._read_attributes(inner, path)
            if self._layer:
                self._layer.enter(path, inner)
            before = len(self.entries) + len(self._gaps)
            self.folder(inner, f"{path}/", depth + 1)
            nothing = len(self.entries) + len(self._gaps) == before and self._seen <= self._keep.entries
            if nothing and not is_git(path):
                self.entries[path] = Entry(kind="folder")
        finally:
            os.close(inner)

    def _read_attributes(self, handle: int, path: str) -> None:
        """Read the extended attributes that an agent can set; those of an overlay are its own."""
        try:
            names = [
                name for name in os.listxattr(handle) if name.startswith("user.") and not name.startswith(_OVERLAY)
            ]
            if names and len(self.attributes) < _MAX_ATTRIBUTES:
                values = (os.fsencode(name) + b"=" + os.getxattr(handle, name) for name in sorted(names))
                self.attributes[path] = b"\n".join(values)
        except OSError:
            return  # a file system without them

    def _unreadable(self, path: str, error: OSError) -> None:
        """Note that a file or folder can't be read, unless no file at all can be opened now."""
        if out_of_files(error):
            raise error
        self._gaps.append(f"{path}: {error.strerror}")

    def _entry(self, handle: int, name: str, path: str, status: os.stat_result) -> Entry:
        known = self._known
        if known.stamps.get(path) == stamp(status) and status.st_ctime_ns < known.settled_before:
            return known.entries[path]
        if stat.S_ISLNK(status.st_mode):
            target = readable(os.readlink(name, dir_fd=handle))
            return Entry(kind="link", size=status.st_size, target=target, sha256=_hash(target.encode()))
        if not stat.S_ISREG(status.st_mode):
            return Entry(kind="other", size=status.st_size)
        executable = bool(status.st_mode & stat.S_IXUSR)
        try:
            digest, content, spooled = self._content(handle, name, path, status)
        except OSError as error:
            self._unreadable(path, error)
            return Entry(kind="file", size=status.st_size, executable=executable)
        before = known.entries.get(path)
        if before is not None and (before.sha256, before.executable) == (digest, executable):
            if spooled is not None:
                spooled.unlink()
            return before
        if isinstance(content, bytes):
            self._kept += len(content)
        return Entry(
            kind="file", size=status.st_size, executable=executable, sha256=digest, content=content, spooled=spooled
        )

    def _content(
        self, handle: int, name: str, path: str, status: os.stat_result
    ) -> tuple[str, bytes | Path | None, Path | None]:
        """A file's sha256 and, if it is to be kept, its content; or else its copy, within the limit for copies."""
        before = self._known.entries.get(path)
        keep = status.st_size <= self._keep.file_bytes and self._kept + status.st_size <= self._keep.total_bytes
        file = _open_file(name, handle)
        try:
            self._read_attributes(file, path)
            if self._place:
                return _hash_whole(file), self._place / path, None
            if keep:
                content = _read(file, status.st_size)
                return _hash(content), content, None
            if self._spool and self._spooled + status.st_size <= self._keep.spooled_bytes:
                if self._at_most is not None:
                    raise TooMany
                self._spooled += status.st_size
                copy = self._spool / str(len(self.entries))
                return _copy(file, copy, status.st_size), None, copy
            if before is not None and before.size == status.st_size:
                return _hash_whole(file), None, None
            return _hash_edges(file, status), None, None
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


def _copy(file: int, to: Path, size: int) -> str:
    """Copy at most `size` bytes to a new file; returns their sha256."""
    digest = hashlib.sha256()
    to.parent.mkdir(mode=0o700, exist_ok=True)
    try:
        with to.open("wb") as out:
            while size > 0 and (piece := os.read(file, min(size, 2**20))):
                digest.update(piece)
                out.write(piece)
                size -= len(piece)
    except OSError:
        to.unlink(missing_ok=True)
        raise
    return digest.hexdigest()


def _hash_edges(file: int, status: os.stat_result) -> str:
    digest = hashlib.sha256(f"edges {status.st_size} {status.st_mtime_ns} ".encode())
    digest.update(os.pread(file, _EDGE, 0))
    digest.update(os.pread(file, _EDGE, max(0, status.st_size - _EDGE)))
    return digest.hexdigest()
