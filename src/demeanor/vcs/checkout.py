"""Check out and build commits of the project, each in its own temporary git worktree.

The user's working tree is never touched: no stash, no checkout.

A worktree is removed on success, on an error, on Ctrl-C and on SIGTERM. If Demeanor is killed, a process that waits for
that removes it; if that one is killed too, it is removed when the next one is created.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from demeanor.config import Config
from demeanor.core.signals import signals_as_interrupt
from demeanor.core.trees.git import GitError, commit_of, git
from demeanor.core.trees.guarded_folder import guarded_folder
from demeanor.core.values.errors import UsageError
from demeanor.vcs.build import run_build

_PREFIX = "demeanor-checkout-"
_OWN_WORKTREE = re.compile(rf"/{_PREFIX}(\d+)-[^/]+/tree$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkout:
    """A commit, checked out and built."""

    revision: str
    """The revision as requested."""

    commit: str
    """The full hash."""

    folder: Path
    """The top folder of its worktree."""

    config: Config
    """The current configuration of the project with the worktree as its root, so that programs come from there."""


def resolve(root: Path, revision: str) -> str:
    """Return the commit of a revision; raise UsageError if git does not know it."""
    try:
        return commit_of(root, revision)
    except GitError as error:
        raise UsageError(
            f"{revision!r} is not a revision of {root}: {error}\n  → name a branch, tag or commit"
        ) from None


@contextmanager
def checked_out(
    config: Config,
    revision: str,
    *,
    environ: Mapping[str, str],
    log: Callable[[str], None] = lambda line: None,
    change: Callable[[Path], None] | None = None,
) -> Iterator[Checkout]:
    """Check out a revision, apply `change` to the files, and build it; `log` gets a message before each step."""
    commit = resolve(config.root, revision)
    with signals_as_interrupt():
        top = top_of(config.root)
        _remove_stale(top)
        prune = ("git", "-C", str(top), "worktree", "prune")
        with guarded_folder(f"{_PREFIX}{os.getpid()}-", then=prune) as home:
            folder = home / "tree"
            try:
                _add(top, folder, commit)
                if change is not None:
                    change(folder)
                root = folder / config.root.resolve().relative_to(top)
                root.mkdir(parents=True, exist_ok=True)
                what = commit[:12] if revision == commit else f"{revision} ({commit[:12]})"
                what += " (changed)" if change is not None else ""
                if config.build.command and config.executor.builds:
                    log(f"checked out {what}; it is built where attempts run")
                elif config.build.command:
                    run_build(config.build, root, what, home / "build.log", environ, log)
                else:
                    log(f"checked out {what}; nothing to build: the configuration has no build command")
                yield Checkout(revision=revision, commit=commit, folder=folder, config=_relocate(config, root))
            finally:
                _remove(top, folder, home)


def top_of(root: Path) -> Path:
    """Return the top folder of the repository that contains a folder."""
    try:
        return Path(git(root, "rev-parse", "--show-toplevel").strip()).resolve()
    except GitError as error:
        raise UsageError(f"{root} is not in a git repository: {error}") from None


def _add(top: Path, folder: Path, commit: str) -> None:
    try:
        git(top, "worktree", "add", "--detach", "--quiet", str(folder), commit)
    except GitError as error:
        raise UsageError(f"can't check out {commit[:12]}: {error}") from None


def _relocate(config: Config, root: Path) -> Config:
    """Return the configuration for a worktree: agents come from there, but results are stored in the usual place."""

    def absolute(place: str) -> str:
        return place if not place or "://" in place else str(config.root / place)

    return replace(
        config,
        root=root,
        file=root / config.where.name,
        results=absolute(config.results),
        store=absolute(config.store),
        captures=absolute(config.captures),
        cassettes=absolute(config.cassettes),
        engines={name: _with_own_program(table, config.root) for name, table in config.engines.items()},
    )


def _with_own_program(table: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """The table of an engine; its program, if the project has one, is that of the project, not of the worktree."""
    program = table.get("program", [])
    words = [program] if isinstance(program, str) else program
    own = [str(root / word) if word.startswith(("./", "../")) else word for word in words]
    return {**table, "program": own} if own else dict(table)


def _remove(top: Path, folder: Path, home: Path) -> None:
    """Remove a worktree, even if it was created only in part."""
    try:
        git(top, "worktree", "remove", "--force", "--force", str(folder))
    except GitError:  # it was not created completely
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(GitError):
            git(top, "worktree", "prune")
    shutil.rmtree(home, ignore_errors=True)


def _remove_stale(top: Path) -> None:
    """Remove the worktrees of Demeanor processes that no longer run."""
    with suppress(GitError):
        for line in git(top, "worktree", "list", "--porcelain").splitlines():
            path = line.removeprefix("worktree ")
            match = _OWN_WORKTREE.search(path)
            if match and Path(path).is_dir() and not _alive(int(match[1])):
                _remove(top, Path(path), Path(path).parent)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
