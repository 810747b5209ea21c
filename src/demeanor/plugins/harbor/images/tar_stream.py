"""Reads the entries of an archive that a stranger made, within limits of memory, size and number."""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import sys
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn, Self, cast

from demeanor.core.installation import install_extra
from demeanor.core.values.errors import UsageError

MAX_BYTES, MAX_ENTRIES = 64 * 2**30, 4_000_000
"""What an image may unpack to at most."""

_OF_FREE_SPACE = 0.9
_MAX_HEADER = 2**20
_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_GZIP, _XZ, _ZSTD, _BZIP2 = b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd", b"BZh"


@dataclass(slots=True)
class Allowance:
    """What may still be unpacked. The layers of an image share one."""

    size: int = MAX_BYTES
    """Bytes."""

    entries: int = MAX_ENTRIES
    """Files, folders and links."""

    bound: str = "64 GiB, the most that is unpacked"
    """What the number of bytes comes from."""

    @classmethod
    def on_disk(cls, folder: Path) -> Allowance:
        """What an image may unpack to at most, as far as the disk has space."""
        free = int(shutil.disk_usage(folder).free * _OF_FREE_SPACE)
        return cls() if free > MAX_BYTES else cls(size=free, bound="this disk has space for")

    def take(self, info: tarfile.TarInfo, where: str) -> None:
        """Count an entry; raises UsageError if it is too much."""
        self.size -= max(0, info.size)
        self.entries -= 1
        if self.size < 0 or self.entries < 0:
            bound = self.bound if self.size < 0 else f"{MAX_ENTRIES} files"
            raise UsageError(f"{where}: it unpacks to more than {bound}\n  → use a smaller image, or free some space")


class _Header(tarfile.TarInfo):
    """A header that can't make its reader use much memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        header = super().frombuf(buf, encoding, errors)
        if header.size < 0 or (header.type in _HEADERS and header.size > _MAX_HEADER):
            raise tarfile.ReadError(f"a header says that it has {header.size} bytes")
        if header.type == tarfile.GNUTYPE_SPARSE:
            cls._proc_gnusparse_10()
        return header

    @staticmethod
    def _proc_gnusparse_10(*_: Any) -> NoReturn:
        """Is called by tarfile for the newest of GNU's formats of sparse files: a list of any length."""
        raise tarfile.ReadError("it has sparse files")


def entries(archive: IO[bytes], where: str, allowance: Allowance) -> Iterator[tuple[tarfile.TarFile, tarfile.TarInfo]]:
    """The entries of an archive and its reader; raises UsageError for too much, and the errors of `unreadable`."""
    stream = _decompressed(archive, where)
    with tarfile.open(fileobj=stream, mode="r|", errors="surrogateescape", tarinfo=_Header) as tar:
        for info in tar:
            tar.members = []  # type: ignore[attr-defined]  # it would keep all of them
            if len(tar.pax_headers) > len(_HEADERS) * 100 or info.size < 0:
                raise tarfile.ReadError("its headers are damaged")
            allowance.take(info, where)
            yield tar, info


def is_archive(file: Path) -> bool:
    """Whether a file is an archive that can be read."""
    try:
        with file.open("rb") as archive:
            return next(entries(archive, str(file), Allowance()), None) is not None
    except (UsageError, OSError):
        return False
    except unreadable():
        return False


def unreadable() -> tuple[type[Exception], ...]:
    """What is raised for an archive that is damaged; by the module zstandard, too, if it is in use."""
    module = sys.modules.get("zstandard")
    zstd = (module.ZstdError,) if module else ()
    return (tarfile.TarError, EOFError, ValueError, RecursionError, zlib.error, lzma.LZMAError, *zstd)


def _decompressed(archive: IO[bytes], where: str) -> IO[bytes]:
    start = archive.read(6)
    archive.seek(0)
    if start.startswith(_GZIP):
        return cast("IO[bytes]", gzip.open(archive, "rb"))
    if start.startswith(_XZ):
        return cast("IO[bytes]", lzma.open(archive, "rb"))
    if start.startswith(_BZIP2):
        return cast("IO[bytes]", bz2.open(archive, "rb"))
    if start.startswith(_ZSTD):
        try:
            import zstandard
        except ImportError:
            remedy = install_extra("inspect")  # which is the same package
            raise UsageError(f"{where}: the layer is compressed with zstd\n  → {remedy}") from None
        return cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(archive))
    return archive
