"""The state of the repository that a run is made with."""

from __future__ import annotations

from pathlib import Path

from demeanor.vcs.git_info import GitState, git_state
from tests.vcs.test_commit_range import Repository


def test_commit_branch_and_changes_are_known(tmp_path: Path):
    """Untracked files do not count as changes."""
    repository = Repository(tmp_path)
    (tmp_path / "a.txt").write_text("one\n")
    repository.git("add", "a.txt")
    commit = repository.commit("one")
    assert git_state(tmp_path) == GitState(commit=commit, branch="main", dirty=False)
    (tmp_path / "untracked.txt").write_text("x\n")
    assert git_state(tmp_path).dirty is False
    (tmp_path / "a.txt").write_text("two\n")
    assert git_state(tmp_path).dirty is True


def test_a_detached_head_has_no_branch(tmp_path: Path):
    """The commit is still known."""
    repository = Repository(tmp_path)
    commit = repository.commit("one")
    repository.git("checkout", "--quiet", "--detach")
    assert git_state(tmp_path) == GitState(commit=commit, branch=None, dirty=False)


def test_nothing_is_known_without_a_commit_or_a_repository(tmp_path: Path):
    """Neither is an error."""
    assert git_state(tmp_path) == GitState()
    Repository(tmp_path)
    assert git_state(tmp_path) == GitState(commit=None, branch="main", dirty=False)
