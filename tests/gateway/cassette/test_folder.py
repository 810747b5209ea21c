"""Cassettes as files, including hostile ones."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from demeanor.core.values.errors import CassetteAbsent, CassetteUnreadable
from demeanor.gateway.cassette.cassette import write_cassette
from demeanor.gateway.cassette.folder import MAX_BYTES, CassetteFolder
from tests.gateway.cassette.helpers import a_cassette, a_request, answered

WHO = ("saves_the_note", "native:played", 1)
TEXT = write_cassette(a_cassette())


def edited(**changes: object) -> bytes:
    """The cassette's text with other values."""
    return json.dumps({**json.loads(TEXT), **changes}).encode()


def test_a_trial_finds_its_own_cassette(tmp_path: Path):
    """Three trials have three files with readable names."""
    folder = CassetteFolder(tmp_path)
    for number in (1, 2, 3):
        folder.write(a_cassette(number=number))
    path, cassette = folder.read("saves_the_note", "native:played", 2)
    assert (path, cassette) == (tmp_path / "saves_the_note/native-played/trial-2.json", a_cassette(number=2))
    assert len(list(folder.files())) == 3


def test_a_large_cassette_is_compressed_and_replaces_the_plain_one(tmp_path: Path):
    """It also works the other way round; there is never more than one file."""
    folder = CassetteFolder(tmp_path)
    small, large = a_cassette(), a_cassette(answered(a_request("x" * 400_000)))
    for cassette, ending in ((small, ".json"), (large, ".json.gz"), (small, ".json")):
        folder.write(cassette)
        assert [path.name for path in folder.files()] == ["trial-1" + ending]
        assert folder.read(*WHO)[1] == cassette


def test_no_name_leads_out_of_the_folder(tmp_path: Path):
    """Eval and subject names come from users and may contain anything."""
    folder = CassetteFolder(tmp_path / "cassettes")
    for name in ("../../etc", "/etc/passwd", "..", "a/../../b", "\0", "x" * 500, ""):
        path = folder.write(a_cassette(eval=name, subject=name))
        assert path.resolve().is_relative_to(tmp_path / "cassettes")
        assert folder.read(name, name, 1)[1].eval == name


def test_a_missing_file_is_absent_and_not_unreadable(tmp_path: Path):
    """The error names the expected file and the remedy."""
    with pytest.raises(CassetteAbsent, match=r"trial-1\.json: there is no cassette") as caught:
        CassetteFolder(tmp_path).read(*WHO)
    assert "demeanor run --record" in caught.value.detail


def test_a_cassette_that_is_too_large_is_not_written(tmp_path: Path):
    """A file that could not be read again is not written."""
    folder = CassetteFolder(tmp_path)
    with pytest.raises(ValueError, match="at most"):
        folder.write(a_cassette(answered(a_request("x" * MAX_BYTES))))
    assert list(folder.files()) == []


def _link(path: Path) -> None:
    (path.parent / "elsewhere").write_text(TEXT)
    path.symlink_to("elsewhere")


def _deep(path: Path) -> None:
    path.write_bytes(edited(facts=0)[:-1].replace(b'"facts": 0', b'"facts": ' + b"[" * 5000 + b"]" * 5000) + b"}")


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.write_bytes(b""), "not valid JSON"),
    "cut in half": (lambda path: path.write_text(TEXT[: len(TEXT) // 2]), "not valid JSON"),
    "not text": (lambda path: path.write_bytes(b"\xff\xfe\x00" + TEXT.encode("utf-16")), "not UTF-8"),
    "latin-1": (lambda path: path.write_bytes(TEXT.replace("Hi.", "Grüße").encode("latin-1")), "not UTF-8"),
    "zero bytes": (lambda path: path.write_bytes(b"\0" * 4096), "not valid JSON"),
    "merge conflict": (lambda path: path.write_text("<<<<<<< HEAD\n" + TEXT), "not valid JSON"),
    "a list": (lambda path: path.write_text("[]"), "expected a table"),
    "another file": (lambda path: path.write_text('{"a": 1}'), "it is not a cassette"),
    "later version": (lambda path: path.write_bytes(edited(schema="demeanor-cassette/9")), "another version"),
    "a schema that is none": (lambda path: path.write_bytes(edited(schema={"x": []})), "it is not a cassette"),
    "another trial's": (lambda path: path.write_bytes(edited(number=2)), "belongs to another trial"),
    "tricks in its name": (lambda path: path.write_bytes(edited(eval="../../etc/passwd")), "belongs to another trial"),
    "unknown field": (lambda path: path.write_bytes(edited(run="rm -rf /")), "unknown field 'run'"),
    "no exchanges": (lambda path: path.write_bytes(edited(exchanges=None)), "exchanges: expected a list"),
    "too many exchanges": (lambda path: path.write_bytes(edited(exchanges=[0] * 3000)), "are too many"),
    "nested too deeply": (_deep, "nested too deeply"),
    "not a number": (lambda path: path.write_text(TEXT.replace('"number": 1', '"number": NaN')), "NaN is not a JSON"),
    "50 MB": (lambda path: path.write_bytes(b" " * 50_000_000), "50000000 bytes"),
    "a link": (_link, "it is a symbolic link"),
    "a loop of links": (lambda path: path.symlink_to(path.name), "it is a symbolic link"),
    "a pipe": (os.mkfifo, "not a regular file"),
    "a folder": (lambda path: path.mkdir(), "not a regular file"),
    "packed: a bomb": (
        lambda path: path.write_bytes(gzip.compress(b" " * (MAX_BYTES + 2**20))),
        "decompresses to more",
    ),
    "packed: not at all": (lambda path: path.write_text(TEXT), "can't be decompressed"),
    "packed: cut": (lambda path: path.write_bytes(gzip.compress(TEXT.encode())[:-9]), "ends too early"),
    "packed: tail": (lambda path: path.write_bytes(gzip.compress(TEXT.encode()) + b"more"), "data after its end"),
    "packed: wrong sum": (
        lambda path: path.write_bytes(gzip.compress(TEXT.encode())[:-8] + b"\0" * 8),
        "can't be decompressed",
    ),
}


def _unread(path: Path) -> tuple[int, ...]:
    """The attributes of a file that must not change when it is read: all but the access time."""
    found = os.lstat(path)
    return found.st_mode, found.st_ino, found.st_nlink, found.st_size, found.st_mtime_ns, found.st_ctime_ns


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_a_clear_error_and_stays_as_it_is(tmp_path: Path, name: str):
    """The error names the file; nothing is repaired or overwritten."""
    make, problem = HOSTILE[name]
    folder = CassetteFolder(tmp_path)
    path = folder.path(*WHO)
    path = path.with_name("trial-1.json.gz") if name.startswith("packed") else path
    path.parent.mkdir(parents=True)
    make(path)
    before = (_unread(path), os.listdir(path.parent))
    with pytest.raises(CassetteUnreadable) as caught:
        folder.read(*WHO)
    assert str(path) in caught.value.detail
    assert problem in caught.value.detail
    assert len(caught.value.detail) < 600
    assert (_unread(path), os.listdir(path.parent)) == before


def test_plain_and_compressed_at_once_is_an_error(tmp_path: Path):
    """It is unclear which of the two is meant."""
    folder = CassetteFolder(tmp_path)
    path = folder.write(a_cassette())
    path.with_name("trial-1.json.gz").write_bytes(gzip.compress(TEXT.encode()))
    with pytest.raises(CassetteUnreadable, match="remove one of them"):
        folder.read(*WHO)
