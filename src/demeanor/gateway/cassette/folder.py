"""Cassettes as files: `<folder>/<eval>/<subject>/trial-N.json`, or `.json.gz` above a size.

Files are written atomically. A file to read may come from anyone who can open a pull request, so only regular files are
opened, symbolic links are not followed, and decompression is limited. A file that can't be read is left as it is.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.text.wording import slug
from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.values.errors import CassetteAbsent, CassetteUnreadable
from demeanor.gateway.cassette.cassette import BadCassette, read_cassette, write_cassette

if TYPE_CHECKING:
    from demeanor.gateway.cassette.cassette import Cassette

COMPRESS_ABOVE = 256 * 2**10
"""A cassette with more bytes of text than this is compressed."""

MAX_BYTES = 32 * 2**20
"""The largest text, in bytes, that is read or written."""

UNCOMPRESSED, COMPRESSED = ".json", ".json.gz"
_RECORD = "record it: demeanor run --record"
_AGAIN = "record it again: demeanor run --record"


class CassetteFolder:
    """All cassettes of a project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, eval: str, subject: str, number: int) -> Path:  # noqa: A002 - the project's word
        """The path of a trial's cassette if it is not compressed; names can't lead out of the folder."""
        return self.folder / slug(eval) / slug(subject) / f"trial-{number}{UNCOMPRESSED}"

    def read(self, eval: str, subject: str, number: int) -> tuple[Path, Cassette]:  # noqa: A002
        """The cassette of a trial and its file; raises CassetteAbsent or CassetteUnreadable."""
        plain = self.path(eval, subject, number)
        paths = [path for path in (plain, _compressed(plain)) if os.path.lexists(path)]
        if not paths:
            raise CassetteAbsent(f"{plain}: there is no cassette for {eval}/{subject}/{number}\n  → {_RECORD}")
        if len(paths) > 1:
            raise CassetteUnreadable(
                f"{plain}: exists both plain and compressed ({paths[1].name})\n  → remove one of them"
            )
        cassette = read_cassette_file(paths[0])
        recorded_for = (cassette.eval, cassette.subject, cassette.number)
        if recorded_for != (eval, subject, number):
            other = f"{cassette.eval}/{cassette.subject}/{cassette.number}"
            raise CassetteUnreadable(
                f"{paths[0]}: belongs to another trial: {other!r}, not {eval}/{subject}/{number}\n  → {_AGAIN}"
            )
        return paths[0], cassette

    def write(self, cassette: Cassette) -> Path:
        """Write a cassette, replacing an earlier one of its trial; raises OSError, or ValueError if it is too large."""
        return write_cassette_file(self.path(cassette.eval, cassette.subject, cassette.number), cassette)

    def files(self) -> Iterator[Path]:
        """Every file with the name of a cassette, in order; symbolic links to folders are not followed."""
        for folder, folders, names in os.walk(self.folder):
            folders.sort()
            yield from (Path(folder, name) for name in sorted(names) if name.endswith((UNCOMPRESSED, COMPRESSED)))


def write_cassette_file(plain: Path, cassette: Cassette) -> Path:
    """Write a cassette, compressed if it is large, in place of an earlier one; `plain` is its uncompressed path. Raises
    OSError, or ValueError if it is too large."""
    content = write_cassette(cassette).encode("utf-8", "replace")
    if len(content) > MAX_BYTES:
        raise ValueError(f"{plain}: the cassette has {len(content)} bytes; at most {MAX_BYTES} are written")
    path, stale = (_compressed(plain), plain) if len(content) > COMPRESS_ABOVE else (plain, _compressed(plain))
    if path != plain:
        content = gzip.compress(content, mtime=0)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content)
    stale.unlink(missing_ok=True)
    return path


def read_cassette_file(path: Path) -> Cassette:
    """Read a cassette from a file; raises CassetteUnreadable with the file and the reason."""
    try:
        content = _bytes(path)
        return read_cassette(_decompress(content) if path.name.endswith(COMPRESSED) else content)
    except OSError as error:
        raise CassetteUnreadable(f"{path}: can't be read: {error.strerror or error}") from None
    except BadCassette as error:
        raise CassetteUnreadable(f"{path}: can't be read: {error}\n  → {_AGAIN}") from None


def _bytes(path: Path) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if path.is_symlink():
            raise BadCassette("it is a symbolic link; only regular files are read") from None
        raise error from None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise BadCassette("it is not a regular file")
        if status.st_size > MAX_BYTES:
            raise BadCassette(f"it has {status.st_size} bytes; at most {MAX_BYTES} are read")
        with open(file, "rb", closefd=False) as stream:
            return stream.read(MAX_BYTES + 1)
    finally:
        os.close(file)


def _decompress(content: bytes) -> bytes:
    decompressor = zlib.decompressobj(wbits=31)
    try:
        text = decompressor.decompress(content, MAX_BYTES + 1)
    except zlib.error as error:
        raise BadCassette(f"it can't be decompressed: {error}") from None
    if len(text) > MAX_BYTES:
        raise BadCassette(f"it decompresses to more than {MAX_BYTES} bytes")
    if not decompressor.eof:
        raise BadCassette("it can't be decompressed: it ends too early")
    if decompressor.unused_data:
        raise BadCassette("it can't be decompressed: there is data after its end")
    return text


def _compressed(plain: Path) -> Path:
    return plain.with_name(plain.name.removesuffix(UNCOMPRESSED) + COMPRESSED)
