"""The commit, branch and state of the repository that a run was made with."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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


def git_state(folder: Path, *, untracked: Sequence[str] = ()) -> GitState:
    """Return the state of the repository that contains `folder`; untracked files make it dirty in these paths only."""
    command = ["git", "status", "--porcelain=v2", "--branch", "--untracked-files=no"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
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
        dirty=any(not line.startswith("#") for line in lines) or _has_untracked(folder, untracked),
    )


def _has_untracked(folder: Path, paths: Sequence[str]) -> bool:
    if not paths:
        return False
    command = ["git", "ls-files", "--others", "--exclude-standard", "-z", "--", *paths]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.returncode == 0 and bool(done.stdout)


def ci_branch(environ: Mapping[str, str], commit: str | None) -> str | None:
    """The branch that a CI service has checked out as a detached HEAD; None if it gives none for this commit."""
    found = (environ.get(branch) for branch, own in _CI_BRANCHES if commit and environ.get(own) == commit)
    return next((branch for branch in found if branch), None)
