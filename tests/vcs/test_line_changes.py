"""Lines of the working tree that differ from a commit."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from demeanor.core.values.errors import UsageError
from demeanor.vcs.line_changes import changed_lines


def git(folder: Path, *words: str) -> None:
    """Run git."""
    who = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository whose files have ten lines each, with a project in a folder of it."""
    project = tmp_path / "project"
    project.mkdir()
    for name in ("edited.md", "cut.md", "same.md", "gone.md", "prömpt.md"):
        (project / name).write_text("".join(f"line {number}\n" for number in range(1, 11)))
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return project


def test_new_edited_and_deleted_lines_are_found(repository: Path) -> None:
    """Also in files that git does not know yet, or whose names it would escape."""
    edited = repository / "edited.md"
    edited.write_text(edited.read_text().replace("line 3\n", "LINE 3\nand more\n"))
    (repository / "cut.md").write_text("".join(f"line {number}\n" for number in (1, 2, 3, 6, 7, 8, 9, 10)))
    (repository / "gone.md").unlink()
    (repository / "prömpt.md").write_text("other\n")
    (repository / "new.md").write_text("one\ntwo\n")
    found = changed_lines(repository, "HEAD")
    assert found["edited.md"] == {3, 4}
    assert found["cut.md"] == {3, 4}
    assert found["prömpt.md"] == {1}
    assert {1, 2} <= found["new.md"]
    assert not {"same.md", "gone.md"} & {*found}


def test_an_unknown_revision_is_an_error(repository: Path) -> None:
    """That names it."""
    with pytest.raises(UsageError, match="'nowhere' is not a revision"):
        changed_lines(repository, "nowhere")
