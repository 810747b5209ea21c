"""Folders sent to workers: a starting workspace, or the project's files, as one archive addressed by its hash."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import stat
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from demeanor.sandboxes import unpack_untrusted

MAX_BYTES = 2 * 2**30
"""The largest archive, in bytes before compression."""


class ArchiveError(ValueError):
    """An archive that is too large, damaged, or not the one that was announced."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Archive:
    """A folder, packed."""

    sha256: str
    """The hash of the uncompressed archive."""

    packed: bytes
    """The archive, compressed."""


def pack(folder: Path, leave_out: Callable[[str], bool] = lambda path: False, *, limit: int = MAX_BYTES) -> Archive:
    """Pack a folder: modes, modification times, links and empty folders included. The same folder has the same hash.

    `leave_out` is asked for each relative path. Raises ArchiveError if the archive exceeds `limit`.
    """
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in _paths(folder, "", leave_out):
            info = tar.gettarinfo(str(folder / path), path)
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime = 0 if info.issym() else int(info.mtime)  # that of a link is not restored
            if info.isreg():
                info.type, info.linkname = tarfile.REGTYPE, ""  # hard links are stored as files
                with (folder / path).open("rb") as file:
                    tar.addfile(info, file)
            elif info.islnk():
                info.type, info.linkname, info.size = tarfile.REGTYPE, "", (folder / path).stat().st_size
                with (folder / path).open("rb") as file:
                    tar.addfile(info, file)
            else:
                tar.addfile(info)
            if out.tell() > limit:
                raise ArchiveError(f"{folder} has more than {limit >> 20} MiB")
    data = out.getbuffer()
    return Archive(sha256=hashlib.sha256(data).hexdigest(), packed=zlib.compress(data, 1))


def unpack(packed: bytes, sha256: str, into: Path) -> None:
    """Unpack an archive into the new folder `into`; raises ArchiveError if it is not the archive with this hash."""
    engine = zlib.decompressobj()
    try:
        data = engine.decompress(packed, MAX_BYTES)
    except zlib.error as error:
        raise ArchiveError(f"the archive is damaged: {error}") from None
    if not engine.eof or engine.unused_data:
        raise ArchiveError("the archive is damaged: it is too long, or ends too early")
    actual = hashlib.sha256(data).hexdigest()
    if actual != sha256:
        raise ArchiveError(f"the archive has the hash {actual[:12]}…, not {sha256[:12]}…")
    into.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix="part-", dir=into.parent))
    part.chmod(0o755)
    try:
        _extract(data, part)
        part.rename(into)
    except (tarfile.TarError, OSError, ArchiveError) as error:
        shutil.rmtree(part, ignore_errors=True)
        if not into.is_dir():  # another thread may have unpacked the same archive meanwhile
            raise ArchiveError(f"the archive can't be unpacked: {error}") from error


def _extract(data: bytes, folder: Path) -> None:
    """Extract everything or raise ArchiveError. Python's own safe extraction came with 3.11.4 only."""
    if refused := unpack_untrusted(io.BytesIO(data), str(folder)):
        raise ArchiveError(refused[0])
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        for member in tar:
            if member.isdir():
                os.utime(folder / member.name, (member.mtime, member.mtime), follow_symlinks=False)


def _paths(folder: Path, prefix: str, leave_out: Callable[[str], bool]) -> Iterator[str]:
    """Files, folders and links below a folder, in order; links are not followed, special files are left out."""
    with os.scandir(folder / prefix) as scan:
        entries = sorted(scan, key=lambda entry: entry.name)
    for entry in entries:
        path = f"{prefix}{entry.name}"
        if leave_out(path):
            continue
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            yield path
            yield from _paths(folder, f"{path}/", leave_out)
        elif stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            yield path
