"""Cassettes as files: `<folder>/<eval>/<subject>/trial-N.json`, or `.json.gz` above a size.

A file is written whole or not at all. What is read may come from anybody who can open a pull request: only plain files
are opened, nothing is followed, and nothing is unpacked beyond a limit. A file that can't be read stays as it is.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.errors import CassetteAbsent, CassetteUnreadable
from demeanor.core.text import slug
from demeanor.gateway.cassette.cassette import BadCassette, read_cassette, write_cassette

if TYPE_CHECKING:
    from demeanor.gateway.cassette.cassette import Cassette

PACKED_ABOVE = 256 * 2**10
"""Bytes of text from which on a cassette is compressed."""

LARGEST = 32 * 2**20
"""Bytes of text that are read or written at most."""

PLAIN, PACKED = ".json", ".json.gz"
_RECORD = "record it: demeanor run --record"
_AGAIN = "record it again: demeanor run --record"


class CassetteFolder:
    """All cassettes of a project."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, eval: str, subject: str, number: int) -> Path:  # noqa: A002 - the word of the house
        """Where the cassette of a trial lies when it is plain; names never lead out of the folder."""
        return self.folder / slug(eval) / slug(subject) / f"trial-{number}{PLAIN}"

    def read(self, eval: str, subject: str, number: int) -> tuple[Path, Cassette]:  # noqa: A002
        """The cassette of a trial and its file; raises CassetteAbsent or CassetteUnreadable."""
        plain = self.place(eval, subject, number)
        found = [path for path in (plain, _packed(plain)) if os.path.lexists(path)]
        if not found:
            raise CassetteAbsent(f"{plain}: there is no cassette of {eval}/{subject}/{number}\n  → {_RECORD}")
        if len(found) > 1:
            raise CassetteUnreadable(f"{plain}: lies here plain and packed ({found[1].name})\n  → remove one of them")
        cassette = read_file(found[0])
        told = (cassette.eval, cassette.subject, cassette.number)
        if told != (eval, subject, number):
            theirs = f"{cassette.eval}/{cassette.subject}/{cassette.number}"
            raise CassetteUnreadable(
                f"{found[0]}: is the cassette of another trial: {theirs!r}, not {eval}/{subject}/{number}\n  → {_AGAIN}"
            )
        return found[0], cassette

    def write(self, cassette: Cassette) -> Path:
        """Keep a cassette in place of an earlier one of its trial; raises OSError, or ValueError for one too large."""
        plain = self.place(cassette.eval, cassette.subject, cassette.number)
        content = write_cassette(cassette).encode("utf-8", "replace")
        if len(content) > LARGEST:
            raise ValueError(f"{plain}: the cassette has {len(content)} bytes; at most {LARGEST} are kept")
        path, other = (_packed(plain), plain) if len(content) > PACKED_ABOVE else (plain, _packed(plain))
        if path != plain:
            content = gzip.compress(content, mtime=0)
        path.parent.mkdir(parents=True, exist_ok=True)
        half = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            half.write_bytes(content)
            half.replace(path)
        finally:
            half.unlink(missing_ok=True)
        other.unlink(missing_ok=True)
        return path

    def files(self) -> Iterator[Path]:
        """Every file that looks like a cassette, in order; folders that are links are not entered."""
        for folder, folders, names in os.walk(self.folder):
            folders.sort()
            yield from (Path(folder, name) for name in sorted(names) if name.endswith((PLAIN, PACKED)))


def read_file(path: Path) -> Cassette:
    """The cassette in a file; raises CassetteUnreadable, which names the file and what is wrong with it."""
    try:
        content = _bytes(path)
        return read_cassette(_unpacked(content) if path.name.endswith(PACKED) else content)
    except OSError as error:
        raise CassetteUnreadable(f"{path}: can't be read: {error.strerror or error}") from None
    except BadCassette as error:
        raise CassetteUnreadable(f"{path}: can't be read: {error}\n  → {_AGAIN}") from None


def _bytes(path: Path) -> bytes:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if path.is_symlink():
            raise BadCassette("it is a link; only plain files are read") from None
        raise error from None
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise BadCassette("it is no plain file")
        if found.st_size > LARGEST:
            raise BadCassette(f"it has {found.st_size} bytes; at most {LARGEST} are read")
        with open(file, "rb", closefd=False) as stream:
            return stream.read(LARGEST + 1)
    finally:
        os.close(file)


def _unpacked(content: bytes) -> bytes:
    engine = zlib.decompressobj(wbits=31)
    try:
        text = engine.decompress(content, LARGEST + 1)
    except zlib.error as error:
        raise BadCassette(f"it can't be unpacked: {error}") from None
    if len(text) > LARGEST:
        raise BadCassette(f"it unpacks to more than {LARGEST} bytes")
    if not engine.eof:
        raise BadCassette("it can't be unpacked: it ends too early")
    if engine.unused_data:
        raise BadCassette("it can't be unpacked: something follows its end")
    return text


def _packed(plain: Path) -> Path:
    return plain.with_name(plain.name.removesuffix(PLAIN) + PACKED)
