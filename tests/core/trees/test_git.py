"""git must be there and new enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.core.trees.git import GitError, git, require_git
from tests.helpers.project import Project


def old_git(folder: Path, version: str) -> str:
    """A PATH on which git says that it has this version."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\necho 'git version {version}'\n")
    (folder / "git").chmod(0o755)
    return str(folder)


@pytest.mark.parametrize("command", [("run", "--policy", "all"), ("validate",)])
def test_a_missing_git_is_named_and_nothing_is_run(project: Project, command: tuple[str, ...]) -> None:
    project.demeanor("init")
    (project.folder.parent / "empty").mkdir()
    ran = project.demeanor(*command, PATH=str(project.folder.parent / "empty"))
    assert ran.returncode == 2
    assert "demeanor: git is not installed\n  → install git 2.25 or newer" in ran.stderr
    assert "bubblewrap" not in ran.stderr
    assert not (project.folder / "results").exists()


def test_an_old_git_is_named(project: Project) -> None:
    project.demeanor("init")
    path = old_git(project.folder.parent / "bin", "1.8.3.1")
    ran = project.demeanor("run", "--policy", "all", PATH=path)
    assert (ran.returncode, "git is too old: git version 1.8.3.1" in ran.stderr) == (2, True), ran.stderr
    shown = project.demeanor("doctor", PATH=path, COLUMNS="200")
    assert "git is too old: git version 1.8.3.1" in shown.stdout


@pytest.mark.parametrize("version", ["2.25.0", "2.39.5 (Apple Git-154)", "3.0.0.rc1", "unknown"])
def test_newer_versions_and_unknown_words_are_accepted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setenv("PATH", old_git(tmp_path / "bin", version), prepend=":")
    require_git()


def test_commands_name_a_missing_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="git is not installed"):
        git(tmp_path, "status")
