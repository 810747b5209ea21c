"""Which version of the project a run was made with."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class GitState:
    """A repository's state; all None outside of one."""

    commit: str | None = None
    """The commit that is checked out; None in a repository without any."""

    branch: str | None = None
    """The branch; None where none is checked out."""

    dirty: bool | None = None
    """Whether tracked files have uncommitted changes."""


def git_state(folder: Path) -> GitState:
    """The state of the repository that `folder` is in."""
    command = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return GitState()
    if done.returncode != 0:
        return GitState()
    lines = done.stdout.splitlines()
    head = {line.split()[1]: line.split()[2] for line in lines if line.startswith("# branch.")}
    commit, branch = head.get("branch.oid"), head.get("branch.head")
    return GitState(
        commit=commit if commit != "(initial)" else None,
        branch=branch if branch != "(detached)" else None,
        dirty=any(not line.startswith("#") for line in lines),
    )
