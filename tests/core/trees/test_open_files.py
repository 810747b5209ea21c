"""The limit of open files: refused before a run, and never mistaken for something that the agent did."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from demeanor.cli.program import main
from demeanor.core.trees.git import require_git
from demeanor.core.trees.nofollow import find_beneath, read_beneath
from demeanor.core.trees.open_files import out_of_files, require_open_files
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.errors import UsageError
from tests.helpers.project import Project


@contextmanager
def limit_of_files(more: int) -> Iterator[None]:
    """Let this process open only so many more files."""
    opened = [os.dup(0) for _ in range(more + 1)]
    for handle in opened:
        os.close(handle)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (opened[-1], hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file in a folder."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a/b.txt").write_text("b")
    return tmp_path


@pytest.mark.parametrize("more", [0, 1, 2, 3])
def test_a_workspace_that_can_not_be_read_for_want_of_descriptors_has_no_gaps(folder: Path, more: int) -> None:
    """A gap would be blamed on the agent; the attempt is void instead."""
    with limit_of_files(more), pytest.raises(OSError, match="Too many open files") as caught:
        scan(folder)
    assert out_of_files(caught.value)


@pytest.mark.parametrize(
    "read",
    [
        lambda folder: read_beneath(folder, "a/b.txt", at_most=9),
        lambda folder: find_beneath(folder, "*/b.txt", at_most=9),
        lambda folder: require_git(),
    ],
)
def test_nothing_is_taken_for_missing(folder: Path, read: Callable[[Path], object]) -> None:
    """Neither an agent's log nor git."""
    read(folder)
    with limit_of_files(0), pytest.raises(OSError, match="Too many open files"):
        read(folder)


def test_a_run_needs_files_for_every_trial() -> None:
    """The message says how many, and what to do."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))
    try:
        require_open_files(7)
        with pytest.raises(
            UsageError, match=r"is 100, and 8 trials at a time need 104\n  → ulimit -n 104, or --jobs 7"
        ):
            require_open_files(8)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


EVAL = "from demeanor import *\n\n@eval_test(USUALLY_PASSES, prompt='x')\ndef a(rig, result): return True\n"


def test_a_run_is_refused_and_bubblewrap_is_not_blamed(project: Project) -> None:
    """Exit code 2, and nothing is written."""
    project.write(evals__eval_a_py=EVAL)
    shell = ["bash", "-c", 'ulimit -n 48; exec "$@"', "bash", *project.command("run", "--policy", "all")]
    ran = subprocess.run(shell, cwd=project.folder, env=project.env, capture_output=True, text=True, check=False)
    assert ran.returncode == 2, ran.stderr
    assert "demeanor: too few files can be open at a time: the limit (ulimit -n) is 48" in ran.stderr
    assert "bubblewrap" not in ran.stderr
    assert not (project.folder / "results").exists()


def test_any_command_says_so_in_one_line(
    project: Project, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is not reported as a bug with a traceback."""
    project.write(evals__eval_a_py=EVAL)
    monkeypatch.chdir(project.folder)
    assert main(["validate", "--list"]) == 0  # imports its modules
    capsys.readouterr()
    with limit_of_files(0):
        assert main(["validate", "--list"]) == 70
    assert capsys.readouterr().err.startswith("demeanor: too many open files\n  → raise the limit with ulimit -n")
