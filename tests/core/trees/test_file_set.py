"""Several files are written all or none."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.core.trees.file_set import new_folder, write_files
from demeanor.core.values.errors import BadInput


def test_files_and_their_folders_are_written(tmp_path: Path) -> None:
    script, text = tmp_path / "a/b/run.sh", tmp_path / "a/text"
    write_files({script: "#!/bin/sh\n", text: "ä\r\n"})
    assert text.read_bytes() == "ä\r\n".encode()
    assert text.stat().st_mode & 0o111 == 0
    assert {path.name for path in tmp_path.rglob("*")} == {"a", "b", "run.sh", "text"}


@given(st.integers(0, 4))
def test_an_error_at_any_file_leaves_everything_as_it_was(failing: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "f1").write_text("old")
        (top / "blocked").write_text("a file where a folder is needed")
        paths = [top / f"f{number}" for number in range(5)]
        paths[failing] = top / "blocked/f"
        with pytest.raises(BadInput, match="blocked/f: can't be written"):
            write_files(dict.fromkeys(paths, "new"))
        assert sorted(path.name for path in top.iterdir()) == ["blocked", "f1"]
        assert (top / "f1").read_text() == "old"


def test_files_already_replaced_are_restored(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    (tmp_path / "b").mkdir()  # a file can't replace a folder: this fails only after `a` was replaced
    with pytest.raises(BadInput, match="b: can't be written"):
        write_files({tmp_path / "new/x": "1", tmp_path / "a": "2", tmp_path / "b": "3"})
    assert (tmp_path / "a").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_an_error_that_also_stops_the_cleaning_up_is_reported_once(tmp_path: Path) -> None:
    """Such as a read-only file system, or here a name that is too long to be removed."""
    name = "x" * 300
    with pytest.raises(BadInput, match=f"{name}: can't be written"):
        write_files({tmp_path / "a": "1", tmp_path / name: "2"})
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_appears_whole(tmp_path: Path) -> None:
    with new_folder(tmp_path / "a/task") as folder:
        (folder / "f").write_text("1")
        assert not (tmp_path / "a/task").exists()
    assert (tmp_path / "a/task/f").read_text() == "1"
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["task"]


def test_a_new_folder_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fill() -> None:
        with new_folder(tmp_path / "a/task") as folder:
            (folder / "f").write_text("1")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fill()
    assert list(tmp_path.iterdir()) == []


def test_a_new_folder_below_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("")
    with pytest.raises(BadInput, match="blocked/task: can't be written"), new_folder(tmp_path / "blocked/task"):
        pass
