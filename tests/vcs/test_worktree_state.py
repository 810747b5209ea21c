"""The state of a working tree changes with everything that a build may depend on or make."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from demeanor.vcs.worktree_state import tree_state


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "protocol.file.allow=always")
    subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)


def repository(folder: Path) -> Path:
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("a")
    (folder / ".gitignore").write_text("bin/\nresults/\n__pycache__/\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "x")
    for path in ("bin/deep/agent", "results/run.json", "bin/__pycache__/agent.pyc", "new.txt"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("1")
    return folder


def replaced(path: Path) -> None:
    """Another file of the same size, as a build would write it."""
    path.write_text("2")
    os.utime(path, ns=(1, 1))


@pytest.mark.parametrize(
    ("change", "sources", "ignored"),
    [
        (lambda top: (top / "sub/a.txt").write_text("b"), True, False),
        (lambda top: (top / "sub/a.txt").unlink(), True, False),
        (lambda top: (top / "sub/a.txt").chmod(0o755), True, False),
        (lambda top: (top / "new.txt").write_text("2"), True, False),
        (lambda top: (top / "new name ü.txt").symlink_to("new.txt"), True, False),
        (lambda top: git(top, "commit", "--allow-empty", "-m", "y"), True, False),
        (lambda top: (top / "bin/deep/agent").unlink(), False, True),
        (lambda top: replaced(top / "bin/deep/agent"), False, True),
        (lambda top: (top / "bin/other").write_text("1"), False, True),
        (lambda top: os.utime(top / "sub/a.txt", ns=(1, 1)), False, False),
        (lambda top: replaced(top / "results/run.json"), False, False),
        (lambda top: replaced(top / "bin/__pycache__/agent.pyc"), False, False),
    ],
)
def test_what_changes_the_state(tmp_path: Path, change: Callable[[Path], object], sources: bool, ignored: bool):
    """Seen from a folder inside the repository."""
    top = repository(tmp_path / "project")
    before = tree_state(top / "sub", leave_out=[top / "results"])
    assert before is not None
    assert before == tree_state(top / "sub", leave_out=[top / "results"])
    change(top)
    after = tree_state(top / "sub", leave_out=[top / "results"])
    assert after is not None
    assert (before.sources != after.sources, before.ignored != after.ignored) == (sources, ignored)


def test_two_changed_files_are_not_mistaken_for_one_another(tmp_path: Path):
    """Names and contents are kept apart."""
    top = repository(tmp_path / "project")
    (top / "new.txt").write_text("1")
    (top / "other.txt").write_text("2")
    before = tree_state(top)
    (top / "new.txt").write_text("2")
    (top / "other.txt").write_text("1")
    assert tree_state(top) != before


def test_a_state_that_cannot_be_told(tmp_path: Path):
    """Outside of a repository, and with a changed submodule, repository inside, or name that is not UTF-8."""
    assert tree_state(tmp_path) is None
    inner = repository(tmp_path / "inner")
    top = repository(tmp_path / "project")
    git(top, "submodule", "--quiet", "add", str(inner), "module")
    git(top, "commit", "--quiet", "-m", "y")
    assert tree_state(top) is not None
    (top / "module/sub/a.txt").write_text("b")
    assert tree_state(top) is None
    git(top / "module", "checkout", "--quiet", ".")
    assert tree_state(top) is not None
    repository(top / "nested")
    assert tree_state(top) is None
    other = repository(tmp_path / "other")
    Path(os.fsdecode(os.fsencode(other) + b"/\xff")).write_text("x")
    assert tree_state(other) is None
