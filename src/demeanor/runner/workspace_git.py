"""The git repository of a workspace: creates one, or removes what an agent must not find in an existing one."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
import zlib
from pathlib import Path

from demeanor.core.trees.git import WITHOUT_PROGRAMS, WITHOUT_REMOTES
from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause

EPOCH = 1735689600
"""The time of every file and of the commit, 2025-01-01 00:00 UTC, so that all trials start from the same state."""

_NAME, _EMAIL, _MESSAGE = "Demeanor", "demeanor@localhost", "Start"
_CONFIG = f"""\
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
\tname = {_NAME}
\temail = {_EMAIL}
"""


def commit(folder: Path) -> None:
    """Create a repository with one commit. `.git` is kept small, because it is copied for every trial."""
    for name in (".git", ".git/objects", ".git/refs"):
        (folder / name).mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git/config").write_text(_CONFIG)
    if [path.name for path in folder.iterdir()] == [".git"]:
        _commit_nothing(folder / ".git")
        return
    _git(folder, "add", "--all")
    _git(
        folder,
        "-c",
        "maintenance.auto=false",
        "commit",
        "--quiet",
        "--allow-empty",
        "--no-verify",
        "--message",
        _MESSAGE,
    )
    _git(folder, "repack", "-a", "-d", "-n", "-q")
    (folder / ".git/COMMIT_EDITMSG").unlink(missing_ok=True)
    shutil.rmtree(folder / ".git/objects/info", ignore_errors=True)


def _commit_nothing(git_dir: Path) -> None:
    """What git writes for the commit of an empty folder, without starting git: many evals have no files."""
    tree = _store_object(git_dir, b"tree", b"")
    person = f"{_NAME} <{_EMAIL}> {EPOCH} +0000"
    text = f"tree {tree.hex()}\nauthor {person}\ncommitter {person}\n\n{_MESSAGE}\n"
    made = _store_object(git_dir, b"commit", text.encode())
    (git_dir / "refs/heads").mkdir()
    (git_dir / "refs/heads/main").write_text(f"{made.hex()}\n")
    cached_tree = b"\0" + b"0 0\n" + tree
    index = struct.pack(">4sLL4sL", b"DIRC", 2, 0, b"TREE", len(cached_tree)) + cached_tree
    (git_dir / "index").write_bytes(index + hashlib.sha1(index, usedforsecurity=False).digest())


def _store_object(git_dir: Path, kind: bytes, content: bytes) -> bytes:
    """Write an object; returns its hash."""
    whole = b"%s %d\0%s" % (kind, len(content), content)
    digest = hashlib.sha1(whole, usedforsecurity=False)
    path = git_dir / "objects" / digest.hexdigest()[:2] / digest.hexdigest()[2:]
    path.parent.mkdir()
    path.write_bytes(zlib.compress(whole, 1))
    path.chmod(0o444)
    return digest.digest()


def repositories(folder: Path) -> list[Path]:
    """The git folders of all repositories in a folder: its own, clones in sub-folders, submodules, bare ones."""
    folders_with_git = []
    for path, folders, files in os.walk(folder):
        if "HEAD" in files and {"objects", "refs"} <= set(folders):
            folders_with_git.append(Path(path))
            folders.remove("objects")
    return folders_with_git


def remove_unreachable(git_dir: Path) -> None:
    """Remove everything from a repository that its branches do not reach: remotes, other refs, reflogs, old objects.

    The branches of submodules and of bare clones are removed too, except for the current one: git creates them for the
    branches of the remote.
    """
    remotes = _repository(git_dir, "remote").split()
    copied = _is_submodule(git_dir) or (bool(remotes) and _is_bare(git_dir))
    for name in remotes:
        _repository(git_dir, "remote", "remove", name)
    for ref in _refs_to_remove(git_dir, copied=copied):
        _repository(git_dir, "update-ref", "--no-deref", "-d", ref)
    for private in (git_dir, *(git_dir / "worktrees").glob("*")):
        shutil.rmtree(private / "logs", ignore_errors=True)
        for name in ("FETCH_HEAD", "ORIG_HEAD"):
            (private / name).unlink(missing_ok=True)
    _repository(git_dir, "repack", "-a", "-d", "-n", "-q")
    (git_dir / "objects/info/alternates").unlink(missing_ok=True)
    _repository(git_dir, "prune", "--expire=now")


def move_worktrees(folder: Path) -> None:
    """Let the worktrees in a folder refer to their repositories, and the other way round, by relative paths: absolute
    ones contain the temporary place of the template, and are wrong in its copies.
    """
    for git_dir in repositories(folder):
        for private in (git_dir / "worktrees").glob("*/gitdir"):
            link = Path(private.read_text("utf-8", "surrogateescape").removesuffix("\n"))
            if link.is_relative_to(folder) and link.is_file() and not link.is_symlink():
                there = os.path.relpath(private.parent, link.parent)
                link.write_text(f"gitdir: {there}\n", "utf-8", "surrogateescape")
                back = os.path.relpath(link, private.parent)
                private.write_text(f"{back}\n", "utf-8", "surrogateescape")


def _refs_to_remove(git_dir: Path, *, copied: bool) -> list[str]:
    merged: set[str] = set()
    if _has_commit(git_dir):
        merged = set(_repository(git_dir, "for-each-ref", "--format=%(refname)", "--merged", "HEAD").split())
    kept = ("refs/tags/",) if copied else ("refs/heads/", "refs/tags/")
    refs = _repository(git_dir, "for-each-ref", "--format=%(refname)").split()
    current = (git_dir / "HEAD").read_text("utf-8", "replace").removeprefix("ref:").strip()
    return [
        ref
        for ref in refs
        if ref != current and (not ref.startswith(kept) or (ref.startswith("refs/tags/") and ref not in merged))
    ]


def _is_submodule(git_dir: Path) -> bool:
    return "modules" in git_dir.parts[git_dir.parts.index(".git") :] if ".git" in git_dir.parts else False


def _is_bare(git_dir: Path) -> bool:
    return _repository(git_dir, "rev-parse", "--is-bare-repository").strip() == "true"


def _repository(git_dir: Path, *arguments: str) -> str:
    return _git(git_dir, f"--git-dir={git_dir}", *arguments)


def _has_commit(git_dir: Path) -> bool:
    try:
        _repository(git_dir, "rev-parse", "--verify", "--quiet", "HEAD")
    except WorldError:
        return False
    return True


def _git(folder: Path, *arguments: str) -> str:
    """Run git without the host's configuration files and variables such as GIT_DIR, and without any program that a
    repository of the template names; returns its output."""
    date = f"{EPOCH} +0000"
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": os.devnull,
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_DATE": date,
        "GIT_COMMITTER_DATE": date,
        **WITHOUT_REMOTES,
    }
    command = ["git", *WITHOUT_PROGRAMS, *arguments]
    try:
        done = subprocess.run(command, cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except FileNotFoundError:
        raise WorldError(VoidCause.MISSING, "git is not installed; install it") from None
    if done.returncode != 0:
        why = done.stderr.decode("utf-8", "backslashreplace").strip()
        raise WorldError(VoidCause.SANDBOX, f"git {' '.join(arguments)} failed in the template: {why}")
    return done.stdout.decode("utf-8", "backslashreplace")
