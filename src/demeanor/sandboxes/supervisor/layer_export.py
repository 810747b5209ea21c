"""Exports what was changed in a persistent sandbox as a layer of an image. Runs in a fork of its supervisor.

The upper layer of the root's overlay has what was added and changed; a deleted path is a device 0:0 there, and a folder
that hides the one below has an attribute. The result is a tar archive as in container images: `.wh.NAME` deletes a
path, `.wh..wh..opq` the content of its folder. Programs in the sandbox may run meanwhile, so no link is ever followed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import tarfile
from typing import IO, NoReturn, cast

from demeanor.sandboxes.supervisor import linux
from demeanor.sandboxes.supervisor.archive import FixedSizeReader

_OPAQUE = "user.overlay.opaque"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def serve_layer(channel_fd: int, upper: str, skip: frozenset[str]) -> NoReturn:
    """In a fork of the supervisor: send the layer over a pipe, and then the result."""
    code = 1
    try:
        linux.disable_ptrace()  # programs in the sandbox see this process, but must not control it
        with socket.socket(fileno=channel_fd) as channel:
            reading, writing = os.pipe()
            socket.send_fds(channel, [b"open\n"], [reading])
            os.close(reading)
            try:
                with os.fdopen(writing, "wb") as stream:
                    export_layer(upper, stream, skip)
                result = b"end 0\n"
            except (OSError, ValueError, tarfile.TarError) as error:
                result = b"fail the layer can't be exported: %s\n" % os.fsencode(str(error)).replace(b"\n", b" ")
            channel.sendall(result)
        code = 0
    finally:
        os._exit(code)


def export_layer(upper: str, stream: IO[bytes], skip: frozenset[str] = frozenset()) -> None:
    """Write the content of an upper layer as a tar archive, without the paths in `skip`."""
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT, errors="surrogateescape") as tar:
        top = os.open(upper, _FOLDER)
        try:
            _Exporter(tar, skip).add_folder(top, "")
        finally:
            os.close(top)


class _Exporter:
    def __init__(self, tar: tarfile.TarFile, skip: frozenset[str]) -> None:
        self._tar, self._skip = tar, skip
        self._seen: dict[tuple[int, int], str] = {}
        """Files with several names, by inode."""

    def add_folder(self, handle: int, path: str) -> None:
        if _is_opaque(handle):
            self._tar.addfile(self._tar.tarinfo(f"{path}.wh..wh..opq"))
        for name in sorted(os.listdir(handle)):
            if f"{path}{name}" in self._skip:
                continue
            with contextlib.suppress(FileNotFoundError):  # a program may delete it meanwhile
                self._add(handle, path, name)

    def _add(self, folder: int, path: str, name: str) -> None:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
        info = self._tar.tarinfo(f"{path}{name}")
        info.mode, info.mtime = stat.S_IMODE(status.st_mode), int(status.st_mtime)
        info.uid, info.gid = status.st_uid, status.st_gid
        if stat.S_ISCHR(status.st_mode):
            if status.st_rdev == 0:
                self._tar.addfile(self._tar.tarinfo(f"{path}.wh.{name}"))
        elif stat.S_ISDIR(status.st_mode):
            inner = os.open(name, _FOLDER, dir_fd=folder)
            try:
                info.type = tarfile.DIRTYPE
                self._tar.addfile(info)
                self.add_folder(inner, f"{path}{name}/")
            finally:
                os.close(inner)
        elif stat.S_ISLNK(status.st_mode):
            info.type, info.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=folder)
            self._tar.addfile(info)
        elif stat.S_ISREG(status.st_mode):
            self._add_file(folder, name, info, status)

    def _add_file(self, folder: int, name: str, info: tarfile.TarInfo, status: os.stat_result) -> None:
        inode = (status.st_dev, status.st_ino)
        if status.st_nlink > 1 and inode in self._seen:
            info.type, info.linkname = tarfile.LNKTYPE, self._seen[inode]
            self._tar.addfile(info)
            return
        self._seen[inode] = info.name
        with os.fdopen(os.open(name, _FILE, dir_fd=folder), "rb", buffering=0) as file:
            info.size = os.fstat(file.fileno()).st_size
            self._tar.addfile(info, cast("IO[bytes]", FixedSizeReader(file, info.size)))


def _is_opaque(handle: int) -> bool:
    try:
        return os.getxattr(handle, _OPAQUE) == b"y"
    except OSError:
        return False
