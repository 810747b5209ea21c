"""Files copied into and out of a persistent sandbox: tar streams, packed and unpacked by our own code at both ends.

The content of a sandbox is untrusted: links that lead outside, devices, fifos, files that grow while they are read,
names that are not valid text. A bad entry is skipped and reported, and never spoils the rest.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH101, PTH102, PTH103, PTH108, PTH112, PTH114, PTH115, PTH120, PTH123, PTH211

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, cast

if TYPE_CHECKING:
    import tarfile

UNLIMITED = 2**62

_PIECE = 2**20
_MAX_LINES, _MAX_NAME = 50, 4096
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def pack_file(path: str, name: str, stream: IO[bytes], *, max_bytes: int = UNLIMITED) -> None:
    """Write a single file as a tar stream, under another name. A link is followed."""
    import tarfile

    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
        _add_file(tar, os.path.realpath(path), name, max_bytes)


def pack(path: str, stream: IO[bytes], *, max_bytes: int = UNLIMITED, max_files: int = UNLIMITED) -> list[str]:
    """Write the content of a folder as a tar stream; returns what was skipped, with the reasons."""
    import tarfile

    skipped: list[str] = []
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            try:
                names = sorted(os.listdir(f"{path}/{folder}"))  # noqa: PTH208 - text, not paths
            except OSError as error:
                if not folder:
                    raise
                skipped.append(f"{folder}: {error.strerror}")
                continue
            for name in names:
                entry = f"{folder}/{name}" if folder else name
                try:
                    max_files -= 1
                    if max_files < 0:
                        raise ValueError("too many files")  # noqa: TRY301
                    size = _add(tar, f"{path}/{entry}", entry, max_bytes)
                except (OSError, ValueError) as error:
                    skipped.append(f"{entry}: {getattr(error, 'strerror', None) or error}")
                    continue
                if size is None:
                    waiting.append(entry)
                else:
                    max_bytes -= size
    return _first(skipped)


def _first(skipped: list[str]) -> list[str]:
    """The first lines, whole: secrets are removed before they are shortened, which can't be done here."""
    lines = skipped[:_MAX_LINES]
    return lines if len(skipped) <= _MAX_LINES else [*lines, f"and {len(skipped) - _MAX_LINES} more"]


def _add(tar: tarfile.TarFile, path: str, name: str, max_bytes: int) -> int | None:
    """Add one entry; returns its size in bytes, None for a folder. Raises ValueError for what can't be packed."""
    status = os.lstat(path)
    if stat.S_ISREG(status.st_mode):
        return _add_file(tar, path, name, max_bytes)
    info = tar.tarinfo(name)
    info.mode, info.mtime = stat.S_IMODE(status.st_mode), status.st_mtime
    if stat.S_ISDIR(status.st_mode):
        info.type = b"5"
    elif stat.S_ISLNK(status.st_mode):
        info.type, info.linkname = b"2", os.readlink(path)
    else:
        raise ValueError("not a file, a folder or a link")
    tar.addfile(info)
    return None if info.isdir() else 0


def _add_file(tar: tarfile.TarFile, path: str, name: str, max_bytes: int) -> int:
    with open(os.open(path, _FILE), "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        if status.st_size > max_bytes:
            raise ValueError(f"its {status.st_size} bytes exceed the limit")
        info = tar.tarinfo(name)
        info.mode, info.mtime, info.size = stat.S_IMODE(status.st_mode), status.st_mtime, status.st_size
        tar.addfile(info, cast("IO[bytes]", FixedSizeReader(file, status.st_size)))
    return status.st_size


class FixedSizeReader:
    """Reads a file at the size it had when it was opened: what was truncated meanwhile is read as zeros."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        want = self._left if size < 0 else min(size, self._left)
        data = b""
        while len(data) < want and (piece := self._file.read(want - len(data))):
            data += piece
        self._left -= want
        return data.ljust(want, b"\0")


def unpack(stream: IO[bytes], folder: str, *, owner: tuple[int, int], mode: int | None) -> None:
    """Extract a trusted tar stream into a folder; all files get `mode`, where one is given."""
    import tarfile

    if not os.path.isdir(folder):
        os.makedirs(folder)
        os.chown(folder, *owner)
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar:
        for info in tar:
            info.mode = info.mode if mode is None else mode
            _extract(tar, info, folder)
            os.lchown(f"{folder}/{info.name}", *owner)
    _read_end(stream)


def unpack_untrusted(
    stream: IO[bytes],
    folder: str,
    *,
    max_bytes: int = UNLIMITED,
    accepts: Callable[[str, bool], bool] = lambda name, folder: True,
) -> list[str]:
    """Extract a tar stream from a sandbox into a folder; returns what was skipped, with the reasons. Links that lead
    out of the folder are skipped, and so is everything that would be written through a link.
    """
    import tarfile

    skipped: list[str] = []
    os.makedirs(folder, exist_ok=True)
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar:
        for info in tar:
            if not accepts(info.name, info.isdir()):
                continue
            try:
                max_bytes -= info.size
                if max_bytes < 0:
                    raise ValueError("too large")  # noqa: TRY301
                _check_inside(info, folder)
                info.mode |= 0o600
                _extract(tar, info, folder)
            except (OSError, ValueError, OverflowError) as error:
                name = info.name if len(info.name) <= _MAX_NAME else f"a name of {len(info.name)} characters"
                skipped.append(f"{name}: {getattr(error, 'strerror', None) or error}")
    _read_end(stream)
    return _first(skipped)


def _read_end(stream: IO[bytes]) -> None:
    """Read what follows the last file: zeros, at most to the end of the next record. Otherwise the pipe could be closed
    while the sender still writes them, and its transfer would fail."""
    import tarfile

    stream.read(2 * tarfile.RECORDSIZE)


def unpack_file(stream: IO[bytes], target: str, *, max_bytes: int = UNLIMITED) -> None:
    """Extract the only file of a tar stream."""
    import tarfile

    os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar:
        info = tar.next()
        if info is None or not info.isreg() or info.size > max_bytes:
            raise ValueError(f"the sandbox sent no file for {target}")
        _unlink(target)
        _write(tar, info, target)
    _read_end(stream)


def _extract(tar: tarfile.TarFile, info: tarfile.TarInfo, folder: str) -> None:
    target = f"{folder}/{info.name}"
    if info.isdir():
        if not os.path.isdir(target):
            _unlink(target)
            os.mkdir(target)
        os.chmod(target, info.mode & 0o777 | 0o700)
    elif info.issym():
        _unlink(target)
        os.symlink(info.linkname, target)
    elif info.isreg():
        _unlink(target)
        _write(tar, info, target)
    else:
        raise ValueError("not a file, a folder or a link")


def _unlink(target: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(target)


def _write(tar: tarfile.TarFile, info: tarfile.TarInfo, target: str) -> None:
    content = tar.extractfile(info)
    with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        while content is not None and (piece := content.read(_PIECE)):
            file.write(piece)
        os.fchmod(file.fileno(), info.mode & 0o777)
    os.utime(target, (info.mtime, info.mtime))


def _check_inside(info: tarfile.TarInfo, folder: str) -> None:
    """Raise ValueError for an entry that would be written outside of the folder."""
    parts = info.name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError("its name leads out of the folder")
    parent = folder
    for part in parts[:-1]:
        parent = f"{parent}/{part}"
        if os.path.islink(parent):
            raise ValueError("a folder of its path is a link")
    if info.isdir() and os.path.islink(f"{parent}/{parts[-1]}"):
        raise ValueError("a link is in its place")
    if info.issym() and _leads_out(info.linkname.split("/"), len(parts) - 1):
        raise ValueError(f"a link that leads out of the folder: {info.linkname}")


def _leads_out(steps: list[str], depth: int) -> bool:
    """Whether a link at that depth may lead out of the folder. A `..` after a name is not trusted: the name may be a
    link, too.
    """
    if steps[0] == "" or steps[-1:] == [""]:
        return True
    up = next((number for number, step in enumerate(steps) if step not in ("..", ".")), len(steps))
    return steps[:up].count("..") > depth or ".." in steps[up:]
