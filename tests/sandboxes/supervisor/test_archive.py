"""Files on their way: what is packed is unpacked, and what is hostile spoils nothing else."""

from __future__ import annotations

import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.sandboxes.supervisor.archive import pack, pack_file, unpack, unpack_file, unpack_untrusted

OWN = (os.getuid(), os.getgid())
NAME = st.text(alphabet="ab .-\udcff\nä", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))


def packed(folder: Path, **limits: int) -> tuple[io.BytesIO, list[str]]:
    """A folder as a stream, and what was left out."""
    stream = io.BytesIO()
    left_out = pack(str(folder), stream, **limits)
    stream.seek(0)
    return stream, left_out


def archive(*members: tuple[str, bytes, str]) -> io.BytesIO:
    """A stream as an attacker would write it: names, types, and where links lead."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as tar:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname, info.size = kind, target, 1 if kind == b"0" else 0
            tar.addfile(info, io.BytesIO(b"x"))
    stream.seek(0)
    return stream


@given(
    st.dictionaries(
        NAME, st.one_of(st.binary(max_size=2000), st.dictionaries(NAME, st.binary(max_size=20), max_size=3)), max_size=5
    )
)
def test_what_is_packed_is_unpacked(
    tmp_path_factory: pytest.TempPathFactory, content: dict[str, bytes | dict[str, bytes]]
) -> None:
    """Whatever it is called: names that are no text, too."""
    source, target, apart = (tmp_path_factory.mktemp(name) for name in ("source", "target", "apart"))
    for name, what in content.items():
        if isinstance(what, bytes):
            (source / name).write_bytes(what)
            continue
        (source / name).mkdir()
        for inner, data in what.items():
            (source / name / inner).write_bytes(data)
    stream, left_out = packed(source)
    assert left_out == []
    unpack(stream, str(target), owner=OWN, mode=None)
    stream.seek(0)
    assert unpack_untrusted(stream, str(apart)) == []
    for folder in (target, apart):
        assert {one.relative_to(folder): one.is_file() and one.read_bytes() for one in folder.rglob("*")} == {
            one.relative_to(source): one.is_file() and one.read_bytes() for one in source.rglob("*")
        }


def test_a_stream_is_read_to_its_end(tmp_path: Path) -> None:
    """Also what follows the file in a record of its own: the sender may still be writing it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/full").write_bytes(bytes(tarfile.RECORDSIZE - 2 * tarfile.BLOCKSIZE))
    stream, _ = packed(tmp_path / "a")
    assert len(stream.getvalue()) == 2 * tarfile.RECORDSIZE
    unpack(stream, str(tmp_path / "b"), owner=OWN, mode=None)
    assert stream.read() == b""
    stream.seek(0)
    unpack_untrusted(stream, str(tmp_path / "c"))
    assert stream.read() == b""
    stream.seek(0)
    unpack_file(stream, str(tmp_path / "d"))
    assert stream.read() == b""


def test_special_files_are_skipped_and_reported(tmp_path: Path) -> None:
    """Fifos are not opened, and what is too large or too much is not taken."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"x" * 100)
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 2**40)
    stream, left_out = packed(tmp_path, max_bytes=50)
    assert [line.partition(":")[0] for line in left_out] == ["large", "pipe", "sparse"]
    with tarfile.open(fileobj=stream) as tar:
        assert tar.getnames() == ["small"]
    assert packed(tmp_path, max_files=2, max_bytes=2**50)[1][-1].endswith("too many files")


def test_a_file_that_shrinks_while_it_is_read_spoils_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is filled up with zeros."""
    (tmp_path / "a").write_bytes(b"x" * 10)
    (tmp_path / "b").write_bytes(b"next")
    real = os.fstat

    def shrink(handle: int) -> os.stat_result:
        found = real(handle)
        if found.st_size == 10:
            os.truncate(tmp_path / "a", 4)
        return found

    monkeypatch.setattr(os, "fstat", shrink)
    stream, _ = packed(tmp_path)
    unpack_untrusted(stream, str(tmp_path / "out"))
    assert (tmp_path / "out/a").read_bytes() == b"xxxx" + b"\0" * 6
    assert (tmp_path / "out/b").read_bytes() == b"next"


@pytest.mark.parametrize(
    ("members", "kept"),
    [
        ([("../out", b"0", ""), ("/abs", b"0", ""), ("a/../../b", b"0", ""), ("fine", b"0", "")], {"fine"}),
        ([("l", b"2", "/etc/passwd"), ("m", b"2", "../x"), ("n", b"2", "a/../../x"), ("fine", b"2", "x")], {"fine"}),
        (
            [("d", b"5", ""), ("d/up", b"2", ".."), ("d/out", b"2", "../.."), ("d/x", b"2", "../d/./y")],
            {"d", "d/up", "d/x"},
        ),
        ([("l", b"2", "."), ("l/through", b"0", ""), ("l", b"5", "")], {"l"}),
        ([("h", b"1", "/etc/passwd"), ("c", b"3", ""), ("f", b"6", ""), ("fine", b"0", "")], {"fine"}),
        ([("x", b"0", ""), ("x/below", b"0", ""), ("fine", b"0", "")], {"x", "fine"}),
    ],
)
def test_a_hostile_stream_stays_in_its_folder(
    tmp_path: Path, members: list[tuple[str, bytes, str]], kept: set[str]
) -> None:
    """Paths that lead out are skipped and reported; the rest is extracted."""
    folder = tmp_path / "folder"
    left_out = unpack_untrusted(archive(*members), str(folder))
    found = {str(one.relative_to(folder)) for one in folder.rglob("*")}
    assert found == kept
    assert len(left_out) == len(members) - len(kept)
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]
    assert all(one.resolve().is_relative_to(folder) for one in folder.rglob("*"))


STEPS = st.sampled_from(["..", ".", "a", "b", "l", "m"])
LINKS = st.lists(st.tuples(st.sampled_from(["l", "m", "a/l", "a/m", "a/b/l"]), st.lists(STEPS, min_size=1, max_size=5)))


@given(LINKS)
def test_no_links_together_lead_out(
    tmp_path_factory: pytest.TempPathFactory, links: list[tuple[str, list[str]]]
) -> None:
    """Not one through the other either, in whatever order they come."""
    folder = tmp_path_factory.mktemp("top") / "folder"
    members = [("a", b"5", ""), ("a/b", b"5", ""), *((name, b"2", "/".join(steps)) for name, steps in links)]
    unpack_untrusted(archive(*members), str(folder))
    for one in folder.rglob("*"):
        try:
            assert one.resolve().is_relative_to(folder)
        except (OSError, RuntimeError):
            continue  # links in a circle lead nowhere


def test_what_is_odd_about_a_file_spoils_no_other(tmp_path: Path) -> None:
    """A date beyond all clocks, and a file without read permission."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, date in (("late", 2**70), ("closed", 5)):
            info = tarfile.TarInfo(name)
            info.mtime, info.mode = date, 0
            tar.addfile(info)
    stream.seek(0)
    assert [line.partition(":")[0] for line in unpack_untrusted(stream, str(tmp_path))] == ["late"]
    assert (tmp_path / "closed").stat().st_mode & 0o777 == 0o600


def test_one_file(tmp_path: Path) -> None:
    """Under another name; a link to it is followed where it lies, and replaced where it goes."""
    (tmp_path / "file").write_text("content")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "there").symlink_to("/etc/passwd")
    stream = io.BytesIO()
    pack_file(str(tmp_path / "link"), "name", stream)
    stream.seek(0)
    unpack_file(stream, str(tmp_path / "there"))
    assert (tmp_path / "there").read_text() == "content"
    with pytest.raises(ValueError, match="no file for"):
        unpack_file(archive(("x", b"2", "/etc/passwd")), str(tmp_path / "other"))
