"""A pool of built commits: none is built twice while it is in the pool, and none is left at the end."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from demeanor.config.config import Config
from demeanor.config.tables import BuildRules
from demeanor.vcs.build import BuildFailed
from demeanor.vcs.worktree_pool import Worktrees
from tests.vcs.test_commit_range import Repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Three commits, whose file `n` has their number."""
    folder = tmp_path / "project"
    folder.mkdir()
    made = Repository(folder)
    for number in range(3):
        (folder / "n").write_text(str(number))
        made.git("add", "n")
        made.commit(str(number))
    return made


def pool(repository: Repository, *command: str) -> Worktrees:
    config = Config(root=repository.folder, build=BuildRules(command=command))
    return Worktrees(config, dict(os.environ), most=2)


def test_a_full_pool_gives_up_the_commit_of_least_worth(repository: Repository):
    """A commit in the pool is not built again, and all worktrees are removed at the end."""
    commits = repository.git("rev-list", "--reverse", "HEAD").split()
    worth = {commits[0]: 1.0, commits[1]: 0.0, commits[2]: 2.0}
    with pool(repository, "cp", "n", "built") as trees:
        for commit, number in ((commits[0], "0"), (commits[1], "1"), (commits[0], "0"), (commits[2], "2")):
            assert (trees.get(commit, worth=worth.__getitem__).folder / "built").read_text() == number
        assert trees.built == 3
        assert trees.at_hand == {commits[0], commits[2]}
    assert len(repository.git("worktree", "list").splitlines()) == 1


def test_a_commit_that_cant_be_built_is_not_in_the_pool(repository: Repository):
    """And its worktree is removed."""
    with pool(repository, "false") as trees:
        with pytest.raises(BuildFailed, match="exit code 1"):
            trees.get(repository.git("rev-parse", "HEAD"), worth=lambda commit: 0.0)
        assert (trees.built, trees.at_hand) == (0, frozenset())
        assert len(repository.git("worktree", "list").splitlines()) == 1
