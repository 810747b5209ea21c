"""The commit, branch and state of the repository that a run was made with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.trees.git import git_environment
from demeanor.vcs.worktree_state import path_of

_CI_BRANCHES = (
    ("GITHUB_REF_NAME", "GITHUB_SHA"),
    ("CI_COMMIT_BRANCH", "CI_COMMIT_SHA"),
    ("CIRCLE_BRANCH", "CIRCLE_SHA1"),
    ("BUILDKITE_BRANCH", "BUILDKITE_COMMIT"),
    ("GIT_LOCAL_BRANCH", "GIT_COMMIT"),
)
"""The variables in which CI services (GitHub, GitLab, CircleCI, Buildkite, Jenkins) give a branch and its commit."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GitState:
    """The state of a repository; all None outside of one."""

    commit: str | None = None
    """The current commit; None in a repository without commits."""

    branch: str | None = None
    """The current branch; None if HEAD is detached."""

    dirty: bool | None = None
    """Whether there are uncommitted changes of tracked files, or untracked files in given folders."""


def git_state(
    folder: Path, *, untracked: Sequence[str] = (), leave_out: Callable[[Path], bool] = lambda path: False
) -> GitState:
    """Return the state of the repository that contains `folder`; untracked files make it dirty in these paths only, and
    those that are left out never."""
    lines = _git(folder, "status", "--porcelain=v2", "--branch", "--no-renames", "--untracked-files=no", "-z")
    top = _git(folder, "rev-parse", "--show-toplevel")
    if lines is None or top is None:
        return GitState()
    head = {line.split()[1]: line.split()[2] for line in lines if line.startswith("# branch.")}
    changed = [Path(top[0].rstrip("\n"), path_of(line)) for line in lines if line and not line.startswith("#")]
    if untracked:
        others = _git(folder, "ls-files", "--others", "--exclude-standard", "-z", "--", *untracked) or []
        changed += [folder.resolve() / name for name in others if name]
    commit, branch = head.get("branch.oid"), head.get("branch.head")
    return GitState(
        commit=commit if commit != "(initial)" else None,
        branch=branch if branch != "(detached)" else None,
        dirty=any(not leave_out(path) for path in changed),
    )


def _git(folder: Path, *words: str) -> list[str] | None:
    """What a git command prints, split at its NULs; None if it fails, such as outside a repository."""
    try:
        done = subprocess.run(
            ["git", *words], cwd=folder, env=git_environment(), capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return os.fsdecode(done.stdout).split("\0") if done.returncode == 0 else None


def ci_branch(environ: Mapping[str, str], commit: str | None) -> str | None:
    """The branch that a CI service has checked out as a detached HEAD; None if it gives none for this commit."""
    names = (environ.get(branch) for branch, own in _CI_BRANCHES if commit and environ.get(own) == commit)
    return next((branch for branch in names if branch), None)
