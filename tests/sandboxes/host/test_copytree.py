"""Copies are exact, and nothing is too odd to be removed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from demeanor.core.trees.tree_io import scan, stamp
from demeanor.sandboxes.host.copytree import copy, read_template, remove


def nest(folder: Path, depth: int) -> None:
    """Folders within folders, deeper than any path can say."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("deep", dir_fd=handle)
        inner = os.open("deep", os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)


@pytest.mark.parametrize("count", [3, 600])
def test_copy_is_exact(tmp_path: Path, count: int) -> None:
    """Contents, modes, dates, links, empty folders; few files or many, small ones or large."""
    source = tmp_path / "source"
    (source / "a/empty").mkdir(parents=True)
    (source / "a/link").symlink_to("../0")
    (source / "large").write_bytes(os.urandom(300_000))
    (source / "closed").mkdir()
    (source / "closed/file").touch(mode=0o400)
    (source / "closed").chmod(0o500)
    for number in range(count):
        (source / str(number)).write_text(str(number))
        (source / str(number)).chmod(0o600 | number % 0o200)
        os.utime(source / str(number), ns=(1, 10**18 + number))
    stamps = copy(read_template(source), str(tmp_path / "copy"))
    assert scan(tmp_path / "copy") == scan(source)
    for path in source.rglob("*"):
        copied = tmp_path / "copy" / path.relative_to(source)
        assert copied.lstat().st_mode == path.lstat().st_mode
        if path.is_file() and not path.is_symlink():
            assert copied.stat().st_mtime_ns == path.stat().st_mtime_ns
            assert stamps[str(path.relative_to(source))] == stamp(copied.stat())
    assert remove(str(tmp_path / "copy"))


def test_removing_copes_with_permissions_and_depth(tmp_path: Path) -> None:
    """Closed folders, and ones nested deeper than a path can say."""
    folder = tmp_path / "folder"
    (folder / "closed/inner").mkdir(parents=True)
    (folder / "closed/inner/file").touch()
    (folder / "closed/inner").chmod(0)
    (folder / "closed").chmod(0o500)
    nest(folder, 900)
    assert remove(str(folder))
    assert list(tmp_path.iterdir()) == []


def test_removing_never_follows_a_link(tmp_path: Path) -> None:
    """Neither the folder's own name nor one below it."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").touch(mode=0o400)
    (outside / "file").chmod(0o400)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/link").symlink_to(outside)
    (tmp_path / "alias").symlink_to(outside)
    assert remove(str(tmp_path / "folder"))
    assert remove(str(tmp_path / "alias"))
    assert ([path.name for path in tmp_path.iterdir()], (outside / "file").stat().st_mode & 0o777) == (
        ["outside"],
        0o400,
    )


def test_removing_in_portions(tmp_path: Path) -> None:
    """So many at a time, until nothing is left; what is gone already is no error."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for number in range(25):
        (folder / str(number)).touch()
    answers = [remove(str(folder), limit=10) for _ in range(4)]
    assert answers == [False, False, True, True]


def test_removing_a_portion_leaves_what_takes_long(tmp_path: Path) -> None:
    """Folders nested too deep to be removed in a moment."""
    nest(tmp_path, 150)
    assert not remove(str(tmp_path / "deep"), limit=1000)
    assert remove(str(tmp_path / "deep"))
