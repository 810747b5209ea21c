"""The commit, branch and state of the repository that a run was made with."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class GitState:
    """The state of a repository; all None outside of one."""

    commit: str | None = None
    """The current commit; None in a repository without commits."""

    branch: str | None = None
    """The current branch; None if HEAD is detached."""

    dirty: bool | None = None
    """Whether tracked files have uncommitted changes."""


def git_state(folder: Path) -> GitState:
    """Return the state of the repository that contains `folder`."""
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
