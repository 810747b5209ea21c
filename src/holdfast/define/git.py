"""What git says of the repository that a project lies in; nothing of it is changed here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_OF_A_HOOK = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}
"""What git sets for its hooks: another repository, or another state of it, than the one that is asked about."""


class GitSays(Exception):
    """What git said when it could not."""


def git(folder: Path, *arguments: str, told: str | None = None) -> str:
    """What a git command prints; `told` is what it reads."""
    try:
        end = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env={name: value for name, value in os.environ.items() if name not in _OF_A_HOOK},
            input=told,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise GitSays(str(error)) from None
    if end.returncode != 0:
        raise GitSays(end.stderr.strip().removeprefix("fatal: ") or f"git exited with {end.returncode}")
    return end.stdout


def fork_point(top: Path) -> str:
    """Where the current branch left the default one; HEAD on the default branch itself."""
    for branch in _DEFAULT_BRANCHES:
        try:
            return git(top, "merge-base", "HEAD", branch).strip()
        except GitSays:
            continue
    return "HEAD"


def commit_of(folder: Path, revision: str) -> str:
    """The commit that a branch, tag or part of a hash stands for. What looks like an option is no revision."""
    return git(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
