from __future__ import annotations

import os
from pathlib import Path

import pytest

from demeanor.core.trees.tree_io import scan
from demeanor.plugins.cluster.archive import ArchiveError, pack, unpack


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with everything that a workspace may have."""
    found = tmp_path / "folder"
    (found / "src/empty").mkdir(parents=True)
    (found / "src/a.py").write_text("print(1)\n")
    (found / "run.sh").write_text("true\n")
    (found / "run.sh").chmod(0o755)
    os.link(found / "run.sh", found / "same.sh")
    (found / "link").symlink_to("src/a.py")
    os.utime(found / "src/a.py", (1000, 1000))
    os.utime(found / "src", (500, 500))
    os.utime(found / "link", (2000, 2000), follow_symlinks=False)
    return found


def test_a_folder_comes_out_as_it_went_in(folder: Path, tmp_path: Path) -> None:
    """Content, modes, times, links and empty folders; the same folder has the same hash."""
    archive = pack(folder)
    unpack(archive.packed, archive.sha256, tmp_path / "there")
    assert scan(tmp_path / "there") == scan(folder)
    assert (tmp_path / "there/src/a.py").stat().st_mtime == 1000
    assert pack(tmp_path / "there").sha256 == archive.sha256


def test_an_archive_that_is_not_the_announced_one_is_refused(folder: Path, tmp_path: Path) -> None:
    """Another content, a torn one, or something else; nothing is unpacked."""
    archive = pack(folder)
    (folder / "run.sh").write_text("false\n")
    for packed in (pack(folder).packed, archive.packed[:-10], archive.packed + b"x", b"nonsense"):
        with pytest.raises(ArchiveError):
            unpack(packed, archive.sha256, tmp_path / "there")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


def test_an_archive_that_would_write_elsewhere_is_refused(folder: Path, tmp_path: Path) -> None:
    """A link out of the folder; nothing is unpacked."""
    (folder / "out").symlink_to("../../elsewhere")
    archive = pack(folder)
    with pytest.raises(ArchiveError, match="out: a link that leads out of the folder"):
        unpack(archive.packed, archive.sha256, tmp_path / "there")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


def test_an_archive_has_a_largest_size_and_may_leave_out_paths(folder: Path) -> None:
    """So that a project of gigabytes is an error instead of a full memory."""
    with pytest.raises(ArchiveError, match="has more than"):
        pack(folder, limit=100)
    assert pack(folder, lambda path: path == "src").sha256 != pack(folder).sha256
