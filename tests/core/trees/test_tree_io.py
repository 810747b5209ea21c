"""A folder becomes a tree and a tree a folder, whatever an agent left there."""

from __future__ import annotations

import hashlib
import itertools
import os
import socket
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.core.trees.tree import Entry, Tree, changes, unified_diff
from demeanor.core.trees.tree_io import Keep, Known, TooMany, scan, stamp, tree_path_problem
from demeanor.core.trees.tree_restore import discard_spooled, restore

names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=12).filter(
    lambda name: tree_path_problem(name) is None
)
paths = st.lists(names, min_size=1, max_size=3).map("/".join)
files = st.builds(lambda content, executable: (content, executable), st.binary(max_size=40), st.booleans())


@given(st.dictionaries(paths, files, max_size=6), st.dictionaries(paths, names, max_size=2))
def test_restoring_and_scanning_are_inverse(contents: dict[str, tuple[bytes, bool]], links: dict[str, str]) -> None:
    """Any names, contents and links that can stand side by side."""
    with tempfile.TemporaryDirectory() as name:
        before = Path(name, "before")
        before.mkdir()
        for path, (content, executable) in contents.items():
            if _free(before, path):
                (before / path).write_bytes(content)
                (before / path).chmod(0o755 if executable else 0o644)
        for path, target in links.items():
            if _free(before, path):
                (before / path).symlink_to(target)
        tree = scan(before)
        after = Path(name, "after")
        after.mkdir()
        restore(tree, after)
        assert scan(after) == tree


def _free(folder: Path, path: str) -> bool:
    place = folder / path
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return False
    return not os.path.lexists(place)


def test_links_fifos_and_sockets_are_noted_and_never_opened(tmp_path: Path) -> None:
    """A link out of the folder shows where it points; a fifo would block its reader."""
    (tmp_path / "out").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("..")
    os.mkfifo(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    entries = scan(tmp_path).entries
    assert (entries["out"].kind, entries["out"].target, entries["out"].content) == ("link", "/etc/passwd", None)
    assert entries["up"].target == ".."
    assert [entries[name].kind for name in ("fifo", "socket")] == ["other", "other"]


def test_names_may_be_any_bytes(tmp_path: Path) -> None:
    """A newline is kept; bytes that are not UTF-8 are shown as escapes, with a gap that says so."""
    (tmp_path / "two\nlines").touch()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")).touch()
    (tmp_path / "link").symlink_to(os.fsdecode(b"\xff"))
    tree = scan(tmp_path)
    assert set(tree.entries) == {"two\nlines", "caf\\xe9", "link"}
    assert tree.entries["link"].target == "\\xff"
    assert tree.gaps == ("caf\\xe9: the name is not valid UTF-8; it is shown with escapes",)


def test_names_that_read_alike_do_not_hide_each_other_silently(tmp_path: Path) -> None:
    """The escaped name of one file is the true name of another."""
    (tmp_path / "\\xff").touch()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")).touch()
    tree = scan(tmp_path)
    assert list(tree.entries) == ["\\xff"]
    assert any("two names look the same after escaping" in gap for gap in tree.gaps)


def test_ten_gigabytes_that_are_not_there_cost_nothing(tmp_path: Path) -> None:
    """A sparse file is noted with its size, unread; another of the same size is still another file."""
    for name in ("one", "two"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(10 * 2**30)
            file.write(name.encode())
        os.utime(tmp_path / name, (0, 0))
    started = time.thread_time()
    one, two = (scan(tmp_path).entries[name] for name in ("one", "two"))
    assert time.thread_time() - started < 2
    assert (one.size, one.content) == (10 * 2**30, None)
    assert not one.same(two)


def test_large_file_of_the_template_is_compared_whole(tmp_path: Path) -> None:
    """Too large to keep, but a change is always detected, in its middle too."""
    large = tmp_path / "large"
    large.write_bytes(b"a" * 30_000)
    known = Known(entries=scan(tmp_path, in_place=True).entries)
    keep = Keep(file_bytes=100)
    large.touch()
    assert scan(tmp_path, known=known, keep=keep).entries["large"] is known.entries["large"]
    large.write_bytes(b"a" * 15_000 + b"b" + b"a" * 14_999)
    after = scan(tmp_path, known=known, keep=keep).entries["large"]
    assert (after.same(known.entries["large"]), after.content) == (False, None)


def test_content_is_kept_up_to_a_limit(tmp_path: Path) -> None:
    """Files beyond it are recorded without content, with their size and hash; that is no gap in the list of files."""
    for number in range(10):
        (tmp_path / str(number)).write_bytes(b"x" * 100)
    tree = scan(tmp_path, keep=Keep(total_bytes=450))
    assert len(tree.entries) == 10
    assert sum(entry.content is not None for entry in tree.entries.values()) == 4
    assert tree.gaps == ()


def test_files_too_large_to_keep_are_copied_until_they_are_judged(tmp_path: Path) -> None:
    """Up to a limit; they are restored with their content, and their hash covers all of it."""
    folder, spool = tmp_path / "folder", tmp_path / "spool"
    folder.mkdir()
    for name in ("a", "b", "small"):
        (folder / name).write_bytes(name.encode() * (10 if name == "small" else 200))
    tree = scan(folder, keep=Keep(file_bytes=100, spooled_bytes=200), spool=spool)
    copied = {path: entry for path, entry in tree.entries.items() if entry.spooled}
    ((path, entry),) = copied.items()
    assert (entry.content, entry.size) == (None, 200)
    assert entry.sha256 == hashlib.sha256(path.encode() * 200).hexdigest()
    into = tmp_path / "into"
    into.mkdir()
    restore(tree, into)
    assert (into / path).read_bytes() == path.encode() * 200
    after = discard_spooled(tree)
    assert (list(spool.iterdir()), after.entries[path].spooled) == ([], None)
    assert after.entries[path].same(entry)


def test_copying_is_left_to_a_scan_without_a_limit(tmp_path: Path) -> None:
    """A limited scan must be short."""
    (tmp_path / "a").write_bytes(b"x" * 200)
    with pytest.raises(TooMany):
        scan(tmp_path, keep=Keep(file_bytes=100), at_most=10, spool=tmp_path / "spool")


def test_empty_folders_are_part_of_the_tree(tmp_path: Path) -> None:
    """Not those with something in them, and not those of git; they are restored."""
    for name in ("empty", "outer/inner", "full", ".git/refs/tags"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "full/x").write_text("x")
    tree = scan(tmp_path)
    assert {path: entry.kind for path, entry in tree.entries.items()} == {
        "empty": "folder",
        "outer/inner": "folder",
        "full/x": "file",
    }
    into = tmp_path / "into"
    into.mkdir()
    restore(tree, into)
    assert scan(into).entries == tree.entries


def test_a_folder_that_is_filled_or_emptied_has_not_changed() -> None:
    """Only creating and deleting it are changes."""
    folder, file = Entry(kind="folder"), Entry(kind="file", content=b"x", size=1, sha256="1")
    empty, full, gone = (Tree(entries=entries) for entries in ({"d": folder}, {"d/x": file}, {}))
    found = {
        (a, b): [(one.path, one.how) for one in changes(before, after)]
        for (a, before), (b, after) in itertools.permutations([("empty", empty), ("full", full), ("gone", gone)], 2)
    }
    assert found["empty", "full"] == [("d/x", "added")]
    assert found["full", "empty"] == [("d/x", "deleted")]
    assert found["empty", "gone"] == [("d", "deleted")]
    assert found["gone", "empty"] == [("d", "added")]
    assert found["full", "gone"] == [("d/x", "deleted")]
    replaced = changes(empty, Tree(entries={"d": file}))
    assert [(one.path, one.how) for one in replaced] == [("d", "changed")]
    assert "-(an empty folder)" in unified_diff(replaced)


def test_number_of_entries_is_limited(tmp_path: Path) -> None:
    """Folders count too; what is left out is reported, or refused on request."""
    for number in range(10):
        (tmp_path / str(number)).mkdir()
        (tmp_path / str(number) / "file").touch()
    tree = scan(tmp_path, keep=Keep(entries=15))
    assert len(tree.entries) < 10
    assert "more than 15 entries (files and folders)" in tree.gaps[0]
    with pytest.raises(TooMany):
        scan(tmp_path, at_most=19)
    assert len(scan(tmp_path, at_most=20).entries) == 10


def test_folders_nested_too_deep_are_left_out(tmp_path: Path) -> None:
    """The gap names where."""
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/b/c/file").touch()
    (tmp_path / "a/file").touch()
    tree = scan(tmp_path, keep=Keep(depth=2))
    assert (set(tree.entries), tree.gaps) == ({"a/file"}, ("a/b/c: nested too deeply; its content was left out",))


def test_folder_that_is_a_link_is_not_entered(tmp_path: Path) -> None:
    """Neither as the root nor below it."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real/secret").touch()
    (tmp_path / "link").symlink_to("real")
    assert dict(scan(tmp_path / "link").entries) == {}
    assert len(scan(tmp_path / "link").gaps) == 1
    assert set(scan(tmp_path).entries) == {"real/secret", "link"}


def test_only_a_settled_stamp_proves_that_nothing_changed(tmp_path: Path) -> None:
    """A stamp younger than the clock's tick is checked by reading."""
    file = tmp_path / "file"
    file.write_text("new")
    old = Entry(kind="file", size=3, sha256="of the old content")
    stamps = {"file": stamp(file.lstat())}
    trusted = Known(entries={"file": old}, stamps=stamps, settled_before=time.time_ns() + 10**9)
    young = Known(entries={"file": old}, stamps=stamps, settled_before=file.lstat().st_ctime_ns)
    assert scan(tmp_path, known=trusted).entries["file"] is old
    assert scan(tmp_path, known=young).entries["file"].content == b"new"


@pytest.mark.parametrize("path", ["", "/etc/x", "../x", "a/../../x", "a//b", "./a", "a/", "a\0b", "\ud800", "x" * 256])
def test_paths_that_lead_out_or_name_no_file_are_reported(path: str) -> None:
    """And restoring refuses them."""
    assert tree_path_problem(path)
    with pytest.raises(ValueError, match="path"):
        restore(Tree(entries={path: Entry(kind="file", content=b"")}), Path("/nonexistent"))


def test_restoring_never_writes_through_a_link(tmp_path: Path) -> None:
    """A tree in which something lies below a link is refused, whichever comes first."""
    outside, into = tmp_path / "outside", tmp_path / "into"
    outside.mkdir()
    into.mkdir()
    link = Entry(kind="link", target=str(outside))
    for below in (Entry(kind="file", content=b"x"), Entry(kind="link", target="y")):
        with pytest.raises(ValueError, match="is below 'a'"):
            restore(Tree(entries={"a": link, "a/b": below}), into)
    restore(Tree(entries={"a": link, "b": Entry(kind="file", content=b"x")}), into)
    assert (list(outside.iterdir()), (into / "a").is_symlink()) == ([], True)


def test_repository_stays_one_when_it_is_restored(tmp_path: Path) -> None:
    """A tree has no empty folders, but git needs two."""
    restore(Tree(entries={".git/HEAD": Entry(kind="file", content=b"ref: refs/heads/main\n")}), tmp_path)
    assert (tmp_path / ".git/objects").is_dir()
    assert (tmp_path / ".git/refs").is_dir()
