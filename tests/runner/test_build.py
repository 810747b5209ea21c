"""When the working tree is built before a run. tests/journeys/test_build.py starts the commands that do so."""

from __future__ import annotations

import shutil

import pytest

from demeanor.vcs.build import BuildFailed
from tests.helpers.builds import Builds
from tests.helpers.project import Project


@pytest.fixture
def builds(project: Project) -> Builds:
    """A project that was never built."""
    return Builds(project)


def test_everything_that_may_change_the_agent_is_built(builds: Builds):
    """Commits, uncommitted and untracked files, a deleted program, and one that was built from other sources."""
    assert builds.build() == 1
    (builds.folder / "agent" / "new.txt").write_text("x")
    assert builds.build() == 2
    builds.versions.commit()
    assert builds.build() == 3
    shutil.rmtree(builds.folder / "bin")
    assert builds.build() == 4
    assert builds.build() == 4
    builds.versions.behave("f")  # built by hand, as the fifth
    builds.behave("p")
    assert builds.build() == 6
    assert (builds.folder / "bin/plan").read_text() == "p"
    config = builds.folder / "demeanor.toml"
    config.write_text(config.read_text().replace('["make", "build"]', '["make", "-s", "build"]'))
    assert builds.build() == 7


def test_results_do_not_count_as_changes(builds: Builds):
    """Nor do call logs: both change with every run, whether git ignores them or not."""
    (builds.folder / ".gitignore").write_text("bin/\n")
    assert builds.build() == 1
    (builds.folder / "results").mkdir()
    (builds.folder / "results/demeanor.db").write_text("x")
    (builds.folder / "evals/logs").mkdir()
    (builds.folder / "evals/logs/always.writer.trial-1.log").write_text("pass\n")
    assert builds.build() == 1


def test_a_build_that_writes_files_that_git_does_not_ignore(builds: Builds):
    """They can't be told from edits during the build, so it is built again once; then everything is the same."""
    (builds.folder / ".gitignore").write_text("results/\n__pycache__/\n")
    builds.versions.commit()
    assert [builds.build() for _ in range(3)] == [1, 2, 2]


def test_without_git_every_run_builds(builds: Builds):
    """There is nothing to compare."""
    shutil.rmtree(builds.folder / ".git")
    assert [builds.build() for _ in range(2)] == [1, 2]


def test_a_tree_whose_build_failed_counts_as_not_built(builds: Builds):
    """Even if it is restored."""
    assert builds.build() == 1
    makefile = builds.folder / "Makefile"
    good = makefile.read_text()
    makefile.write_text("build:\n\texit 3\n")
    with pytest.raises(BuildFailed, match="exit code 2 for the working tree"):
        builds.build()
    makefile.write_text(good)
    assert builds.build() == 2


def test_several_commands_in_one_list_are_not_one_program(builds: Builds):
    """The message shows the words quoted, as a shell takes them."""
    config = builds.folder / "demeanor.toml"
    config.write_text(config.read_text().replace('["make", "build"]', '["make clean", "make build"]'))
    with pytest.raises(BuildFailed) as caught:
        builds.build()
    assert "'make clean' 'make build'" in str(caught.value)
    assert 'it is one program with its arguments; to run several: ["sh", "-c", "… && …"]' in str(caught.value)
