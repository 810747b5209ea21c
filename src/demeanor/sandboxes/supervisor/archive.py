"""Files on their way into a lodge and out of it: tar streams, packed and unpacked by code of ours at both ends.

What lies in a lodge is hostile: links that lead out, devices, fifos, files that grow while they are read, names that
are no text. One bad thing never spoils the rest; what is left out is told.
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

BIG = 2**62
"""As much as there is."""

_PIECE = 2**20
_TOLD, _WIDE = 50, 200
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def pack_file(path: str, name: str, stream: IO[bytes], *, most: int = BIG) -> None:
    """Write a single file as a tar stream, under another name. A link to one is followed."""
    import tarfile

    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
        _add_file(tar, os.path.realpath(path), name, most)


def pack(path: str, stream: IO[bytes], *, most: int = BIG, files: int = BIG) -> list[str]:
    """Write what lies in a folder as a tar stream; what was left out, with the reason."""
    import tarfile

    left_out: list[str] = []
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT, errors="surrogateescape") as tar:
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            try:
                names = sorted(os.listdir(f"{path}/{folder}"))  # noqa: PTH208 - text, not paths
            except OSError as error:
                if not folder:
                    raise
                left_out.append(f"{folder}: {error.strerror}")
                continue
            for name in names:
                place = f"{folder}/{name}" if folder else name
                try:
                    files -= 1
                    if files < 0:
                        raise ValueError("there are too many files")  # noqa: TRY301
                    size = _add(tar, f"{path}/{place}", place, most)
                except (OSError, ValueError) as error:
                    left_out.append(f"{place}: {getattr(error, 'strerror', None) or error}")
                    continue
                if size is None:
                    waiting.append(place)
                else:
                    most -= size
    return _told(left_out)


def _told(left_out: list[str]) -> list[str]:
    """As much of it as anybody will read."""
    told = [line if len(line) <= _WIDE else f"…{line[-_WIDE:]}" for line in left_out[:_TOLD]]
    return told if len(left_out) <= _TOLD else [*told, f"and {len(left_out) - _TOLD} more"]


def _add(tar: tarfile.TarFile, path: str, name: str, most: int) -> int | None:
    """Add one thing; the bytes that it takes, None for a folder. Raises ValueError for what can't be had."""
    found = os.lstat(path)
    if stat.S_ISREG(found.st_mode):
        return _add_file(tar, path, name, most)
    info = tar.tarinfo(name)
    info.mode, info.mtime = stat.S_IMODE(found.st_mode), found.st_mtime
    if stat.S_ISDIR(found.st_mode):
        info.type = b"5"
    elif stat.S_ISLNK(found.st_mode):
        info.type, info.linkname = b"2", os.readlink(path)
    else:
        raise ValueError("it is neither a file nor a folder nor a link")
    tar.addfile(info)
    return None if info.isdir() else 0


def _add_file(tar: tarfile.TarFile, path: str, name: str, most: int) -> int:
    with open(os.open(path, _FILE), "rb", buffering=0) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is no plain file")
        if found.st_size > most:
            raise ValueError(f"its {found.st_size} bytes are more than may be taken out")
        info = tar.tarinfo(name)
        info.mode, info.mtime, info.size = stat.S_IMODE(found.st_mode), found.st_mtime, found.st_size
        tar.addfile(info, cast("IO[bytes]", _Exactly(file, found.st_size)))
    return found.st_size


class _Exactly:
    """A file as long as it was when it was looked at: what has gone meanwhile is told as zeros."""

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
    """Write what a tar stream of ours holds into a folder; all of it with another mode, where one is given."""
    import tarfile

    if not os.path.isdir(folder):
        os.makedirs(folder)
        os.chown(folder, *owner)
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar:
        for info in tar:
            info.mode = info.mode if mode is None else mode
            _lay(tar, info, folder)
            os.lchown(f"{folder}/{info.name}", *owner)


def unpack_hostile(
    stream: IO[bytes], folder: str, *, most: int = BIG, wanted: Callable[[str, bool], bool] = lambda name, folder: True
) -> list[str]:
    """Write what came out of a lodge into a folder; what was left out, with the reason. Links that lead out of the
    folder are left out, and so is whatever would be written through a link.
    """
    import tarfile

    left_out: list[str] = []
    os.makedirs(folder, exist_ok=True)
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar:
        for info in tar:
            if not wanted(info.name, info.isdir()):
                continue
            try:
                most -= info.size
                if most < 0:
                    raise ValueError("it is too large")  # noqa: TRY301
                _check_apart(info, folder)
                info.mode |= 0o600
                _lay(tar, info, folder)
            except (OSError, ValueError, OverflowError) as error:
                left_out.append(f"{info.name}: {getattr(error, 'strerror', None) or error}")
    return _told(left_out)


def unpack_file(stream: IO[bytes], place: str, *, most: int = BIG) -> None:
    """Write the one file that a tar stream holds."""
    import tarfile

    os.makedirs(os.path.dirname(place) or ".", exist_ok=True)
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape") as tar:
        info = tar.next()
        if info is None or not info.isreg() or info.size > most:
            raise ValueError(f"no file for {place} came out of the sandbox")
        _clear(place)
        _write(tar, info, place)


def _lay(tar: tarfile.TarFile, info: tarfile.TarInfo, folder: str) -> None:
    place = f"{folder}/{info.name}"
    if info.isdir():
        if not os.path.isdir(place):
            _clear(place)
            os.mkdir(place)
        os.chmod(place, info.mode & 0o777 | 0o700)
    elif info.issym():
        _clear(place)
        os.symlink(info.linkname, place)
    elif info.isreg():
        _clear(place)
        _write(tar, info, place)
    else:
        raise ValueError("it is neither a file nor a folder nor a link")


def _clear(place: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(place)


def _write(tar: tarfile.TarFile, info: tarfile.TarInfo, place: str) -> None:
    content = tar.extractfile(info)
    with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        while content is not None and (piece := content.read(_PIECE)):
            file.write(piece)
        os.fchmod(file.fileno(), info.mode & 0o777)
    os.utime(place, (info.mtime, info.mtime))


def _check_apart(info: tarfile.TarInfo, folder: str) -> None:
    """Raise ValueError for what would reach beyond the folder."""
    parts = info.name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ValueError("its name leads elsewhere")
    place = folder
    for part in parts[:-1]:
        place = f"{place}/{part}"
        if os.path.islink(place):
            raise ValueError("it lies behind a link")
    if info.isdir() and os.path.islink(f"{place}/{parts[-1]}"):
        raise ValueError("there is a link in its place")
    if info.issym() and _leads_out(info.linkname.split("/"), len(parts) - 1):
        raise ValueError(f"it is a link that leads out of the folder: {info.linkname}")


def _leads_out(steps: list[str], depth: int) -> bool:
    """Whether a link may lead out of the folder, in which it lies so deep. Going up after having gone down is not
    trusted: what was gone through may be a link, too.
    """
    if steps[0] == "" or steps[-1:] == [""]:
        return True
    up = next((number for number, step in enumerate(steps) if step not in ("..", ".")), len(steps))
    return steps[:up].count("..") > depth or ".." in steps[up:]
