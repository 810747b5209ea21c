"""The git repository of a workspace: creates one, or removes what an agent must not find in an existing one."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.verdict import VoidCause

EPOCH = 1735689600
"""The time of every file and of the commit, 2025-01-01 00:00 UTC, so that all trials start from the same state."""

_CONFIG = """\
[core]
\trepositoryformatversion = 0
\tfilemode = true
\tbare = false
\tlogallrefupdates = false
\tcheckStat = minimal
\ttrustctime = false
[gc]
\tauto = 0
[commit]
\tgpgSign = false
[user]
\tname = Demeanor
\temail = demeanor@localhost
"""


def commit(folder: Path) -> None:
    """Create a repository with one commit. `.git` is kept small, because it is copied for every trial."""
    for name in (".git", ".git/objects", ".git/refs"):
        (folder / name).mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git/config").write_text(_CONFIG)
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--allow-empty", "--no-verify", "--message", "Start")
    _git(folder, "repack", "-a", "-d", "-n", "-q")
    (folder / ".git/COMMIT_EDITMSG").unlink(missing_ok=True)
    shutil.rmtree(folder / ".git/objects/info", ignore_errors=True)


def remove_unreachable(folder: Path) -> None:
    """Remove everything from a repository that its branches do not reach: remotes, other refs, reflogs, old objects."""
    for name in _git(folder, "remote").split():
        _git(folder, "remote", "remove", name)
    reachable = set(_git(folder, "tag", "--merged", "HEAD").split()) if _has_commit(folder) else set()
    removed = [f"refs/tags/{tag}" for tag in _git(folder, "tag").split() if tag not in reachable]
    kept = ("refs/heads/", "refs/tags/")
    removed += [ref for ref in _git(folder, "for-each-ref", "--format=%(refname)").split() if not ref.startswith(kept)]
    for ref in removed:
        _git(folder, "update-ref", "-d", ref)
    shutil.rmtree(folder / ".git/logs", ignore_errors=True)
    for name in ("FETCH_HEAD", "ORIG_HEAD"):
        (folder / ".git" / name).unlink(missing_ok=True)
    _git(folder, "repack", "-a", "-d", "-n", "-q")
    _git(folder, "prune", "--expire=now")


def _has_commit(folder: Path) -> bool:
    try:
        _git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    except WorldError:
        return False
    return True


def _git(folder: Path, *arguments: str) -> str:
    """Run git without the host's configuration files and variables such as GIT_DIR; returns its output."""
    date = f"{EPOCH} +0000"
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder / ".git"),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
    }
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise WorldError(VoidCause.MISSING, "git is not installed; install it") from None
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "backslashreplace").strip()
        raise WorldError(VoidCause.SANDBOX, f"git {arguments[0]} failed in the template: {why}")
    return done.stdout.decode("utf-8", "backslashreplace")
