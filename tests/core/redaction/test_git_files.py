"""Secrets in git objects: loose, packed, as deltas and in bundles."""

from __future__ import annotations

import hashlib
import random
import struct
import subprocess
import zlib
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.core.redaction import git_files
from demeanor.core.redaction.git_files import TooMuchToSearch, git_objects
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.redaction.values import redacted, why_withheld
from demeanor.core.trees.tree import Entry, Tree

SECRET = "a-rather-long-secret-0123456789"
NOISE = "".join(random.Random(1).choices("abcdefghij \n", k=4000))


def git(folder: Path, *words: str) -> None:
    """Run git with nothing of this machine's configuration."""
    environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=x", "-c", "user.email=x@localhost", "-c", "gc.auto=0")
    subprocess.run(["git", *who, *words], cwd=folder, env=environ, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two versions of a file that git stores as a delta; the older one, which is no longer there, has the secret."""
    git(tmp_path, "init", "--quiet")
    for text in (f"{NOISE}{SECRET}{NOISE}", f"{NOISE}{NOISE}, and more"):
        (tmp_path / "notes.txt").write_text(text)
        git(tmp_path, "add", "--all")
        git(tmp_path, "commit", "--quiet", "-m", "Work")
    return tmp_path


def files_with_the_secret(folder: Path) -> list[str]:
    """The names of files below `.git` whose objects contain the secret."""
    files = [path for path in (folder / ".git").rglob("*") if path.is_file()]
    return sorted(p.name for p in files if any(SECRET.encode() in one for one in git_objects(p.read_bytes())))


def test_a_loose_object_is_unpacked(repository: Path):
    """Only the one that has the secret is found."""
    content = f"{NOISE}{SECRET}{NOISE}".encode()
    name = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
    assert files_with_the_secret(repository) == [name[2:]]


@pytest.mark.parametrize("by_name", [False, True], ids=["by position", "by name"])
def test_a_pack_is_unpacked_and_its_deltas_are_applied(repository: Path, by_name: bool):
    """All objects of the repository come out, whatever they are stored as."""
    git(repository, "-c", f"repack.useDeltaBaseOffset={str(not by_name).lower()}", "repack", "-a", "-d", "-q", "-f")
    (pack,) = repository.glob(".git/objects/pack/*.pack")
    assert SECRET.encode() not in pack.read_bytes()
    assert files_with_the_secret(repository) == [pack.name]
    assert len(pack.read_bytes()) < 2 * len(zlib.compress(NOISE.encode())), "the two versions share their content"
    found = set(git_objects(pack.read_bytes()))
    assert {f"{NOISE}{SECRET}{NOISE}".encode(), f"{NOISE}{NOISE}, and more".encode()} <= found
    assert len(found) == 6


def test_a_bundle_is_unpacked(repository: Path):
    """It is a pack behind a text."""
    git(repository, "bundle", "create", "-q", "all.bundle", "--all")
    assert any(SECRET.encode() in one for one in git_objects((repository / "all.bundle").read_bytes()))


def test_a_file_with_a_committed_secret_is_not_kept(repository: Path):
    """Others stay as they are; the reason names the secret but does not show it."""
    redactor = Redactor({"KEY": SECRET})
    paths = [path for path in sorted((repository / ".git/objects").rglob("*")) if path.is_file()]
    tree = Tree(entries={path.name: Entry(kind="file", sha256="x", content=path.read_bytes()) for path in paths})
    clean = redacted(tree, redactor)
    (lost,) = [name for name, entry in clean.entries.items() if entry.content is None]
    assert [lost] == files_with_the_secret(repository)
    assert clean.entries[lost].sha256 == ""
    assert all(clean.entries[name] == entry for name, entry in tree.entries.items() if name != lost)
    content = tree.entries[lost].read()
    assert content is not None
    assert why_withheld(content, redactor) == "a git object in it contains a secret (KEY)"


def test_what_unpacks_to_too_much_is_not_kept(monkeypatch: pytest.MonkeyPatch):
    """A small file can contain anything: it is not searched to its end."""
    monkeypatch.setattr(git_files, "MAX_BYTES", 10_000)
    bomb = zlib.compress(bytes(20_000))
    with pytest.raises(TooMuchToSearch):
        git_objects(bomb)
    entry = Entry(kind="file", content=bomb, sha256="x")
    assert redacted(Tree(entries={"bomb": entry}), Redactor()).entries["bomb"].content is None
    assert "too much to search" in (why_withheld(bomb, Redactor()) or "")


def test_deltas_do_not_multiply_without_limit(monkeypatch: pytest.MonkeyPatch):
    """Each delta copies its base many times."""
    monkeypatch.setattr(git_files, "MAX_BYTES", 100_000)
    doubling = b"\x01\x01" + b"\xf0\xff\xff\x00" * 100  # sizes, then: copy 65,535 bytes, 100 times
    pack = b"PACK" + struct.pack(">II", 2, 2) + b"\x3a" + zlib.compress(bytes(70_000))
    pack += b"\x6a" + bytes([len(pack) - 12]) + zlib.compress(doubling)
    with pytest.raises(TooMuchToSearch):
        git_objects(pack)


@given(st.binary(max_size=200), st.sampled_from([b"", b"\x78\x9c", b"PACK\0\0\0\2\0\0\0\1"]))
def test_any_bytes_are_read_without_an_error(data: bytes, start: bytes):
    """Whatever an agent writes."""
    git_objects(start + data)


def test_a_damaged_pack_is_read_as_far_as_possible(repository: Path):
    """Each prefix and each altered byte ends without an error; what comes before is found."""
    git(repository, "repack", "-a", "-d", "-q", "-f")
    (path,) = repository.glob(".git/objects/pack/*.pack")
    pack = path.read_bytes()
    for at in range(0, len(pack), 7):
        git_objects(pack[:at])
        git_objects(pack[:at] + bytes([pack[at] ^ 0xFF]) + pack[at + 1 :])
    assert any(SECRET.encode() in one for one in git_objects(pack[:-20]))
