"""Applies the layers of an image to a folder.

A layer is a tar archive of what it adds and changes; `.wh.NAME` deletes a path of the layers below, `.wh..wh..opq` the
whole content of its folder. Archives are untrusted: no entry is written through a link that leads out of the folder.
Files of an existing root are replaced, never changed in place, because roots share them by hard links.
"""

# An image has many files, with names that may be any bytes: plain strings, not pathlib.
# ruff: noqa: PTH101, PTH102, PTH103, PTH108, PTH112, PTH114, PTH115, PTH120, PTH123, PTH211

from __future__ import annotations

import errno
import gzip
import lzma
import os
import shutil
import stat
import sys
import tarfile
import zlib
from pathlib import Path
from typing import IO, cast

from demeanor.core.installation import install_extra
from demeanor.core.values.errors import UsageError

_DELETED, _OPAQUE = ".wh.", ".wh..wh..opq"
_MAX_LINKS = 40
_IMPOSSIBLE = frozenset(
    {errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP, errno.EINVAL}
)
"""Errors of entries that no folder can have, such as a link to a file that does not exist."""

_GZIP, _XZ, _ZSTD = b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"


def apply_layer(archive: IO[bytes], root: Path, where: str) -> None:
    """Apply a layer to a root file system; raises UsageError for an archive that can't be read or leads outside, and
    OSError if the disk is full or can't be written.
    """
    try:
        stream = _decompressed(archive, where)
        with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar:
            _Target(root, where).apply(tar)
    except _unreadable() as error:
        raise UsageError(f"{where}: the layer can't be read: {error}\n  → get the image or archive again") from None
    except (OSError, OverflowError) as error:
        if isinstance(error, OSError) and error.errno not in _IMPOSSIBLE:
            raise
        raise UsageError(f"{where}: the layer can't be unpacked: {error}\n  → use another image or archive") from None


def _unreadable() -> tuple[type[Exception], ...]:
    """What is raised for an archive that is damaged; by the module zstandard, too, if it is in use."""
    module = sys.modules.get("zstandard")
    zstd = (module.ZstdError,) if module else ()
    return (tarfile.TarError, EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, *zstd)


def _decompressed(archive: IO[bytes], where: str) -> IO[bytes]:
    start = archive.read(6)
    archive.seek(0)
    if start.startswith(_GZIP):
        return cast("IO[bytes]", gzip.open(archive, "rb"))
    if start.startswith(_XZ):
        return cast("IO[bytes]", lzma.open(archive, "rb"))
    if start.startswith(_ZSTD):
        try:
            import zstandard
        except ImportError:
            remedy = install_extra("inspect")  # which is the same package
            raise UsageError(f"{where}: the layer is compressed with zstd\n  → {remedy}") from None
        return cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(archive))
    return archive


class _Target:
    """The folder that a layer is applied to."""

    def __init__(self, root: Path, where: str) -> None:
        self._root, self._where = str(root), where
        self._keeps_owners = os.geteuid() == 0
        self._new: set[str] = set()
        """What this layer has added, and the folders on the way: its own opaque folders don't hide these."""
        self._folders: list[tuple[str, tarfile.TarInfo]] = []

    def apply(self, tar: tarfile.TarFile) -> None:
        for info in tar:
            path = self._inside(info.name)
            if path == self._root:
                continue
            folder, _, name = path.rpartition("/")
            if name == _OPAQUE:
                self._clear(folder)
            elif name.startswith(_DELETED):
                _remove(f"{folder}/{name.removeprefix(_DELETED)}")
            else:
                self._add(tar, info, path)
                self._remember(path)
        for path, info in reversed(self._folders):  # permissions and times last: a read-only folder is filled first
            self._set_attributes(path, info)

    def _remember(self, path: str) -> None:
        while path != self._root and path not in self._new:
            self._new.add(path)
            path = path.rpartition("/")[0]

    def _inside(self, name: str) -> str:
        """The path of an entry below the root, with links in its folders resolved as by a program that runs there."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if "\0" in name or ".." in parts:
            raise UsageError(f"{self._where}: an entry leads out of the image: {name!r}")
        return _resolved(self._root, parts, self._where)

    def _clear(self, folder: str) -> None:
        if os.path.isdir(folder) and not os.path.islink(folder):
            for item in os.scandir(folder):
                if item.path not in self._new:
                    _remove(item.path)

    def _add(self, tar: tarfile.TarFile, info: tarfile.TarInfo, path: str) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if info.isdir():
            if not _is_folder(path):
                _remove(path)
                os.mkdir(path, 0o700)
            self._folders.append((path, info))
            return
        if info.ischr() or info.isblk():
            return  # /dev is the sandbox's own
        _remove(path)
        if info.issym():
            os.symlink(info.linkname, path)
        elif info.islnk():
            os.link(self._inside(info.linkname), path, follow_symlinks=False)
            return  # its attributes are those of the other name
        elif info.isfifo():
            os.mkfifo(path, 0o600)
        elif info.isreg():
            content = tar.extractfile(info)
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "wb") as file:
                if content is not None:
                    shutil.copyfileobj(content, file, 2**18)
        else:
            return
        self._set_attributes(path, info)

    def _set_attributes(self, path: str, info: tarfile.TarInfo) -> None:
        if self._keeps_owners:
            os.lchown(path, info.uid, info.gid)
        if not info.issym():
            mode = stat.S_IMODE(info.mode)
            os.chmod(path, mode if self._keeps_owners else mode | (0o700 if info.isdir() else 0o600))
        os.utime(path, (info.mtime, info.mtime), follow_symlinks=False)


def _resolved(root: str, parts: list[str], where: str) -> str:
    """A path below the root, with the links on the way resolved inside of the root."""
    waiting, found, links = list(reversed(parts)), [root], 0
    while waiting:
        part = waiting.pop()
        if part == "..":
            if len(found) > 1:
                found.pop()
            continue
        path = f"{found[-1]}/{part}"
        if waiting and os.path.islink(path):
            links += 1
            if links > _MAX_LINKS:
                raise UsageError(f"{where}: too many links on the way to {'/'.join(parts)!r}")
            target = os.readlink(path)
            if target.startswith("/"):
                found = [root]
            waiting += reversed([name for name in target.split("/") if name not in ("", ".")])
            continue
        found.append(path)
    return found[-1]


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _remove(path: str) -> None:
    """Remove a file, a link or a whole folder, if it exists."""
    if _is_folder(path):
        remove_tree(Path(path))
    elif os.path.lexists(path):
        os.unlink(path)


def remove_tree(folder: Path) -> None:
    """Remove a folder, also one that contains folders without write permission."""
    for path, folders, _ in os.walk(folder):
        for name in folders:
            inner = f"{path}/{name}"
            if not os.path.islink(inner) and not os.access(inner, os.W_OK | os.X_OK):
                os.chmod(inner, 0o700)
    shutil.rmtree(folder)
