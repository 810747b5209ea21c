"""What git says of the repository that a project lies in; nothing of it is changed here."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

_DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_OF_A_HOOK = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}
"""What git sets for its hooks: another repository, or another state of it, than the one that is asked about."""


class GitError(Exception):
    """What git said when it could not."""


def git(folder: Path, *arguments: str, told: str | None = None) -> str:
    """What a git command prints; `told` is what it reads."""
    try:
        end = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            env=_environment(),
            input=told,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except OSError as error:
        raise GitError(str(error)) from None
    if end.returncode != 0:
        raise GitError(end.stderr.strip().removeprefix("fatal: ") or f"git exited with {end.returncode}")
    return end.stdout


def blob_contents(repository: Path, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The content of many objects of a repository's own folder, one after the other, by one process of git."""
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as answers:
        asked.write("".join(f"{name}\n" for name in names).encode())
        asked.seek(0)
        command = ["git", f"--git-dir={repository.resolve()}", "cat-file", "--batch"]
        end = subprocess.run(
            command, stdin=asked, stdout=answers, stderr=subprocess.PIPE, env=_environment(), check=False
        )
        answers.seek(0)
        for name in names:
            said = answers.readline().split()
            if end.returncode != 0 or len(said) != 3:
                raise GitError(end.stderr.decode("utf-8", "replace").strip() or f"the object {name} can't be read")
            yield name, answers.read(int(said[2]) + 1)[:-1]


def fork_point(top: Path) -> str:
    """Where the current branch left the default one; HEAD on the default branch itself."""
    for branch in _DEFAULT_BRANCHES:
        try:
            return git(top, "merge-base", "HEAD", branch).strip()
        except GitError:
            continue
    return "HEAD"


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}


def commit_of(folder: Path, revision: str) -> str:
    """The commit that a branch, tag or part of a hash stands for. What looks like an option is no revision."""
    return git(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
