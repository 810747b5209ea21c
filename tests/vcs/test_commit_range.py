"""The commits between two revisions along first parents."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from demeanor.core.values.errors import UsageError
from demeanor.vcs.commit_range import commit_line


class Repository:
    """A repository with empty commits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=A. Uthor", "-c", "user.email=a@example.com")
        done = subprocess.run(["git", *who, *words], cwd=self.folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, message: str) -> str:
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def line(self, good: str, bad: str) -> list[str]:
        return [commit.subject for commit in commit_line(self.folder, good, bad).commits]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """main: one, two, merge of `side` (which left after one, and has s1 and s2), three."""
    made = Repository(tmp_path)
    made.commit("one")
    made.git("branch", "side")
    made.commit("two")
    made.git("switch", "--quiet", "side")
    made.commit("s1")
    made.commit("s2")
    made.git("switch", "--quiet", "main")
    made.git("merge", "--quiet", "--no-ff", "-m", "merge", "side")
    made.commit("three\u2028of the same line")
    return made


def test_the_line_follows_first_parents_and_includes_both_ends(repository: Repository):
    """A merge represents everything that it merged."""
    found = commit_line(repository.folder, "main~3", "main")
    assert [commit.subject.split("\u2028")[0] for commit in found.commits] == ["one", "two", "merge", "three"]
    assert [commit.merge for commit in found.commits] == [False, False, True, False]
    assert (found.commits[0].author, found.notes) == ("A. Uthor", ())


def test_the_line_can_follow_a_merged_branch(repository: Repository):
    """The good end is where the branch left the line."""
    assert repository.line("main~1^1~1", "side") == ["one", "s1", "s2"]
    found = commit_line(repository.folder, "main~1^1", "main~1^2")
    assert [commit.subject for commit in found.commits] == ["one", "s1", "s2"]
    assert "is not on the first-parent line" in found.notes[0]


def test_a_good_commit_on_a_merged_branch_is_replaced_by_one_of_the_line(repository: Repository):
    """A note says so."""
    found = commit_line(repository.folder, "side~1", "main")
    assert [commit.subject.split("\u2028")[0] for commit in found.commits] == ["one", "two", "merge", "three"]
    assert "is used as the good end" in found.notes[0]


def test_revisions_without_commits_between_them_are_refused(repository: Repository):
    """With the reason."""
    for good, bad, message in (
        ("main", "main", "both are"),
        ("main", "main~2", "the bad one is older"),
        ("main", "nowhere", "is not a revision"),
    ):
        with pytest.raises(UsageError, match=message):
            commit_line(repository.folder, good, bad)
    repository.git("switch", "--quiet", "--orphan", "other")
    repository.commit("alone")
    with pytest.raises(UsageError, match="no common history"):
        commit_line(repository.folder, "main", "other")
