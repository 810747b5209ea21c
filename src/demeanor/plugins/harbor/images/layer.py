"""Applies the layers of an image to a folder.

A layer is a tar archive of what it adds and changes; `.wh.NAME` deletes a path of the layers below, `.wh..wh..opq` the
whole content of its folder. Archives are untrusted. Every operation names a folder by its descriptor, and what is in it
by a single name, and follows no link: the links on the way to a folder are resolved here, inside of the root.
Files of an existing root are replaced, never changed in place, because roots share them by hard links.
"""

# An image has many files, with names that may be any bytes: plain strings, not pathlib.
# ruff: noqa: PTH123

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from demeanor.core.values.errors import UsageError
from demeanor.plugins.harbor.images.tar_stream import Allowance, entries, unreadable

_DELETED, _OPAQUE = ".wh.", ".wh..wh..opq"
_MAX_LINKS = 40
_MAX_DEPTH = 200
_IMPOSSIBLE = frozenset(
    {
        errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL,
        errno.EPERM, errno.EMLINK,
    }
)  # fmt: skip
"""Errors of entries that no folder can have, such as a link to a file that does not exist."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FIFO = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def apply_layer(
    archive: IO[bytes], root: Path, where: str, *, allowance: Allowance | None = None, whiteouts: bool = True
) -> None:
    """Apply a layer to a root file system; raises UsageError for an archive that can't be read, leads outside or
    unpacks to too much, and OSError if the disk is full or can't be written.

    Without `whiteouts`, a name that begins with `.wh.` is that of an ordinary file.
    """
    try:
        with contextlib.closing(_Target(root, where, whiteouts=whiteouts)) as target:
            for tar, info in entries(archive, where, allowance or Allowance.on_disk(root)):
                target.take(tar, info)
            target.finish()
    except unreadable() as error:
        raise UsageError(f"{where}: the layer can't be read: {error}\n  → get the image or archive again") from None
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno is not None and error.errno not in _IMPOSSIBLE:
            raise
        raise UsageError(f"{where}: the layer can't be unpacked: {error}\n  → use another image or archive") from None


class _Target:
    """The folder that a layer is applied to."""

    def __init__(self, root: Path, where: str, *, whiteouts: bool) -> None:
        self._root, self._where, self._whiteouts = os.open(root, _FOLDER), where, whiteouts
        self._keeps_owners = os.geteuid() == 0
        self._new: set[tuple[str, ...]] = set()
        """What this layer has added, and the folders on the way: its own opaque folders don't hide these."""
        self._folders: dict[tuple[str, ...], tarfile.TarInfo] = {}

    def close(self) -> None:
        os.close(self._root)

    def take(self, tar: tarfile.TarFile, info: tarfile.TarInfo) -> None:
        """Do what an entry says."""
        parts = self._parts(info.name)
        if not parts:
            return
        *above, name = parts
        if self._whiteouts and name.startswith(_DELETED):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._folder(above) as (path, folder):
                self._delete(path, folder, name)
            return
        with self._folder(above, make=True) as (resolved, folder):
            self._add(tar, info, folder, path := (*resolved, name))
        self._new.update(path[:length] for length in range(1, len(path) + 1))

    def _delete(self, path: tuple[str, ...], folder: int, name: str) -> None:
        deleted = name.removeprefix(_DELETED)
        if name == _OPAQUE:
            for item in os.listdir(folder):
                if (*path, item) not in self._new:
                    _remove(folder, item)
        elif deleted in ("", ".", ".."):
            raise UsageError(f"{self._where}: a whiteout leads out of its folder: {name!r}")
        else:
            _remove(folder, deleted)

    def finish(self) -> None:
        """Set the permissions and times of folders: a read-only folder is filled first. What the layer itself has
        replaced by something else is left alone.
        """
        for path in sorted(self._folders, key=len, reverse=True):
            with contextlib.suppress(FileNotFoundError, NotADirectoryError), self._folder(path, links=0) as (_, folder):
                self._set_attributes(folder, self._folders[path])

    def _parts(self, name: str) -> list[str]:
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if "\0" in name or ".." in parts:
            raise UsageError(f"{self._where}: an entry leads out of the image: {name!r}")
        return parts

    @contextlib.contextmanager
    def _folder(
        self, parts: Sequence[str], *, make: bool = False, links: int = _MAX_LINKS
    ) -> Iterator[tuple[tuple[str, ...], int]]:
        """A folder below the root as its path without links, and its descriptor. Links on the way are resolved as by a
        program that runs there.
        """
        waiting = list(reversed(parts))
        path: list[str] = []
        handles = [os.dup(self._root)]

        def leave() -> None:
            if path:  # nothing is above the root
                path.pop()
                os.close(handles.pop())

        try:
            while waiting:
                part = waiting.pop()
                if part == "..":
                    leave()
                    continue
                if len(path) == _MAX_DEPTH:
                    raise UsageError(f"{self._where}: it has more than {_MAX_DEPTH} folders in one another")
                try:
                    handles.append(_open_folder(handles[-1], part, make=make))
                    path.append(part)
                    continue
                except (NotADirectoryError, FileExistsError):
                    target = _link_target(handles[-1], part) if links else ""
                    if not target:
                        raise
                links -= 1
                if not links:
                    raise UsageError(f"{self._where}: too many links on the way to {'/'.join(parts)!r}")
                while target.startswith("/") and path:
                    leave()
                waiting += reversed([step for step in target.split("/") if step not in ("", ".")])
            yield tuple(path), handles[-1]
        finally:
            for handle in handles:
                os.close(handle)

    def _add(self, tar: tarfile.TarFile, info: tarfile.TarInfo, folder: int, path: tuple[str, ...]) -> None:
        name = path[-1]
        if info.isdir():
            if not _is_folder(folder, name):
                _remove(folder, name)
                os.mkdir(name, 0o700, dir_fd=folder)
            self._folders[path] = info
            return
        if info.ischr() or info.isblk():
            return  # /dev is the sandbox's own
        _remove(folder, name)
        if info.issym():
            os.symlink(info.linkname, name, dir_fd=folder)
            if self._keeps_owners:
                os.chown(name, info.uid, info.gid, dir_fd=folder, follow_symlinks=False)
            os.utime(name, (info.mtime, info.mtime), dir_fd=folder, follow_symlinks=False)
        elif info.islnk():  # its attributes are those of the other name
            *above, other = self._parts(info.linkname) or [""]
            with self._folder(above) as (_, source):
                os.link(other, name, src_dir_fd=source, dst_dir_fd=folder, follow_symlinks=False)
        elif info.isfifo():
            os.mkfifo(name, 0o600, dir_fd=folder)
            with open(os.open(name, _FIFO, dir_fd=folder), "rb", buffering=0) as file:
                self._set_attributes(file.fileno(), info)
        elif info.isreg():
            content = tar.extractfile(info)
            with open(os.open(name, _NEW_FILE, 0o600, dir_fd=folder), "wb") as file:
                if content is not None:
                    shutil.copyfileobj(content, file, 2**18)
                file.flush()
                self._set_attributes(file.fileno(), info)

    def _set_attributes(self, handle: int, info: tarfile.TarInfo) -> None:
        mode = stat.S_IMODE(info.mode)
        if self._keeps_owners:
            os.fchown(handle, info.uid, info.gid)
        else:
            mode |= 0o700 if info.isdir() else 0o600
        os.fchmod(handle, mode)
        os.utime(handle, (info.mtime, info.mtime))


def _open_folder(above: int, name: str, *, make: bool) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except FileNotFoundError:
        if not make:
            raise
    os.mkdir(name, dir_fd=above)
    return os.open(name, _FOLDER, dir_fd=above)


def _link_target(above: int, name: str) -> str:
    """Where a link leads; empty for anything else."""
    try:
        return os.readlink(name, dir_fd=above)
    except OSError:
        return ""


def _is_folder(above: int, name: str) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=above, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _remove(above: int, name: str) -> None:
    """Remove a file, a link or a whole folder, if it exists."""
    if _is_folder(above, name):
        shutil.rmtree(name, dir_fd=above)
    else:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=above)


def remove_tree(folder: Path) -> None:
    """Remove a folder, also one that contains folders without write permission."""
    for path, folders, _ in os.walk(folder):
        for name in folders:
            inner = Path(path, name)
            if not inner.is_symlink() and not os.access(inner, os.W_OK | os.X_OK):
                inner.chmod(0o700)
    shutil.rmtree(folder)
