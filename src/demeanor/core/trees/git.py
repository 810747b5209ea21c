"""Read-only git commands on a project's repository."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from demeanor.core.trees.open_files import out_of_files
from demeanor.core.values.errors import UsageError

OLDEST = (2, 25)
"""The oldest version of git that works."""

_DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_HOOK_VARIABLES = {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"}
"""Variables that git sets for hooks; they would redirect git to another repository or index."""


WITHOUT_PROGRAMS = ("-c", f"core.hooksPath={os.devnull}", "-c", "core.fsmonitor=false")
"""Options for a repository that a stranger has made, whose hooks and settings name programs that git would run."""

WITHOUT_REMOTES = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
"""Variables for such a repository: git gets missing objects from a remote, by a program that its settings name."""


class GitError(Exception):
    """A git command failed; the message is git's."""


def git(folder: Path, *arguments: str, stdin: str | None = None, trusted: bool = True) -> str:
    """The output of a git command. One that is not `trusted` is for a repository that a stranger has made."""
    try:
        end = subprocess.run(
            ["git", *(() if trusted else WITHOUT_PROGRAMS), "-C", str(folder), *arguments],
            env={**git_environment(), **({} if trusted else WITHOUT_REMOTES)},
            input=stdin,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except FileNotFoundError:
        raise GitError("git is not installed") from None
    except OSError as error:
        raise GitError(str(error)) from None
    if end.returncode != 0:
        raise GitError(end.stderr.strip().removeprefix("fatal: ") or f"git exited with {end.returncode}")
    return end.stdout


def require_git() -> None:
    """Raise UsageError, with a remedy, if git is missing or too old: every workspace is a git repository."""
    remedy = f"install git {'.'.join(map(str, OLDEST))} or newer: every workspace is a git repository"
    try:
        text = subprocess.run(["git", "--version"], capture_output=True, check=False, text=True).stdout
    except OSError as error:
        if out_of_files(error):
            raise
        raise UsageError(f"git is not installed\n  → {remedy}") from None
    match = re.search(r"(\d+)\.(\d+)", text)
    if match and (int(match[1]), int(match[2])) < OLDEST:
        raise UsageError(f"git is too old: {text.strip()}\n  → {remedy}")


def blob_contents(repository: Path, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """The contents of many objects of the git directory `repository`, read by one git process."""
    with tempfile.TemporaryFile() as requests, tempfile.TemporaryFile() as answers:
        requests.write("".join(f"{name}\n" for name in names).encode())
        requests.seek(0)
        command = ["git", *WITHOUT_PROGRAMS, f"--git-dir={repository.resolve()}", "cat-file", "--batch"]
        env = {**git_environment(), **WITHOUT_REMOTES}
        end = subprocess.run(command, stdin=requests, stdout=answers, stderr=subprocess.PIPE, env=env, check=False)
        answers.seek(0)
        for name in names:
            header = answers.readline().split()
            if end.returncode != 0 or len(header) != 3:
                raise GitError(end.stderr.decode("utf-8", "replace").strip() or f"the object {name} can't be read")
            yield name, answers.read(int(header[2]) + 1)[:-1]


def fork_point(top: Path) -> str:
    """The merge base of the current and the default branch, which is HEAD on the default branch itself.

    GitError says why it is unknown. HEAD is no substitute: compared with itself, no eval would be new or removed.
    """
    if not has_commits(top):
        return "HEAD"
    if (base := _merge_base(top, _DEFAULT_BRANCHES)) is not None:
        return base
    if git(top, "rev-parse", "--is-shallow-repository").strip() == "true":
        raise GitError(
            "this clone is shallow, so the commit where the branch began is unknown; "
            "get it with `git fetch --unshallow`, and the default branch with `git fetch origin main:main`"
        )
    if (branch := default_branch(top)) is None:
        remedy = "fetch it, such as with `git fetch origin main:main`, or name it with --base"
        if _has_all_branches(top):
            remedy = "name it with --base, or run `git remote set-head origin --auto`"
        raise GitError(f"the default branch is unknown; {remedy}")
    if (base := _merge_base(top, (f"origin/{branch}", branch))) is None:
        raise GitError(f"HEAD and {branch} have no common commit; name one with --base")
    return base


def _merge_base(top: Path, branches: Sequence[str]) -> str | None:
    """The merge base of HEAD and the first of these branches that has one."""
    for branch in branches:
        try:
            return git(top, "merge-base", "HEAD", branch).strip()
        except GitError:
            continue
    return None


def has_commits(folder: Path) -> bool:
    """Whether a folder is in a repository that has a commit."""
    try:
        git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    except GitError:
        return False
    return True


def unreadable(folder: Path) -> str | None:
    """Why git can't read the repository that a folder is in; None if it can, or if there is none."""
    if not any((parent / ".git").exists() for parent in (folder.resolve(), *folder.resolve().parents)):
        return None
    try:
        git(folder, "rev-parse", "--show-toplevel")
    except GitError as error:
        return str(error).partition("\n")[0]
    return None


def missing_commit(folder: Path, revision: str) -> str:
    """Why `revision` is not a commit of the repository, in a sentence without git's own words."""
    if not has_commits(folder):
        return "the repository has no commit yet"
    return f"there is no commit {revision!r} to compare with"


def unusable_base(folder: Path, revision: str, problem: str) -> UsageError:
    """The error of a command whose option --base names what it can't compare with."""
    remedy = "leave out --base, or run it in a clone of the repository"
    if has_commits(folder):
        remedy = "use a branch or a commit, such as --base main; in a shallow clone, fetch it first with `git fetch`"
    return UsageError(f"--base {revision}: {problem}\n  → {remedy}")


def default_branch(folder: Path) -> str | None:
    """The name of the default branch: the remote's, else `main` or `master`, else the only one; None if unknown, as in
    a clone of a single other branch."""
    try:
        return git(folder, "symbolic-ref", "--short", "refs/remotes/origin/HEAD").strip().removeprefix("origin/")
    except GitError:
        pass  # there is no remote, or it was not cloned from
    try:
        refs = git(folder, "for-each-ref", "--format=%(refname)", "refs/heads", "refs/remotes/origin").split()
    except GitError:
        return None
    names = list(dict.fromkeys(ref.removeprefix("refs/heads/").removeprefix("refs/remotes/origin/") for ref in refs))
    if named := next((name for name in ("main", "master") if name in names), None):
        return named
    return names[0] if len(names) == 1 and _has_all_branches(folder) else None


def _has_all_branches(folder: Path) -> bool:
    """Whether all branches of the remote are fetched; also if there is no remote."""
    try:
        return "*" in git(folder, "config", "--get-all", "remote.origin.fetch")
    except GitError:
        return True


def git_environment() -> dict[str, str]:
    """The environment of a git command."""
    return {name: value for name, value in os.environ.items() if name not in _HOOK_VARIABLES}


def commit_of(folder: Path, revision: str) -> str:
    """The commit of a branch, tag or abbreviated hash. Strings that look like options are rejected."""
    return git(folder, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}").strip()
