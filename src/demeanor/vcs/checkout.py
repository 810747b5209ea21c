"""Check out and build commits of the project, each in its own temporary git worktree.

The user's working tree is never touched: no stash, no checkout. The build command is the project's own code, so it runs
on this machine as the user would run it, outside of any sandbox; the caller announces that first.

A worktree is removed on success, on an error, on Ctrl-C and on SIGTERM. A worktree that a killed Demeanor left behind
is removed when the next one is created.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType

from demeanor.config.config import Config
from demeanor.config.tables import BuildRules
from demeanor.core.errors import UsageError
from demeanor.core.git import GitError, commit_of, git
from demeanor.core.text import excerpt

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


class BuildFailed(UsageError):
    """The build command failed for a checkout."""


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
    with _sigterm_as_interrupt():
        top = top_of(config.root)
        _remove_stale(top)
        home = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-")).resolve()
        folder = home / "tree"
        try:
            _add(top, folder, commit)
            if change is not None:
                change(folder)
            root = folder / config.root.resolve().relative_to(top)
            root.mkdir(parents=True, exist_ok=True)
            what = commit[:12] if revision == commit else f"{revision} ({commit[:12]})"
            what += ", changed," if change is not None else ""
            _build(config.build, root, what, home / "build.log", environ, log)
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
        harbor=replace(config.harbor, program=config.harbor.command(config.root)),
    )


def _build(
    rules: BuildRules, root: Path, what: str, log_file: Path, environ: Mapping[str, str], log: Callable[[str], None]
) -> None:
    if not rules.command:
        log(f"checked out {what}; nothing to build: the configuration has no build command")
        return
    shown = " ".join(rules.command)
    log(f"building {what} with `{shown}`, on this machine, outside of any sandbox")
    process: subprocess.Popen[bytes] | None = None
    with log_file.open("wb") as out:
        try:
            with _signals_deferred():  # an interrupted Popen would leave an untracked process
                process = subprocess.Popen(
                    rules.command,
                    cwd=root,
                    env=dict(environ),
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            code = process.wait(timeout=rules.timeout)
        except OSError as error:
            raise BuildFailed(f"build = {shown!r}: can't start it: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise BuildFailed(f"build = {shown!r}: {what} was not built within {rules.timeout:g} s") from None
        finally:
            if process is not None:
                _kill_group(process)
    if code != 0:
        output = excerpt(log_file.read_bytes()[-20_000:].decode("utf-8", "replace"), lines=20)
        raise BuildFailed(f"build = {shown!r}: exit code {code} for {what}\n{output}")


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill the build and all processes of its group."""
    with _signals_deferred():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


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


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that worktrees are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Defer SIGINT and SIGTERM to the end of the block. They are not blocked, because a child would inherit that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    handled = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number in handled:
            signal.signal(number, lambda number, frame: received.append(number))
        yield
    finally:
        for number, handler in handled.items():
            signal.signal(number, handler)
        for one in received[:1]:
            signal.raise_signal(one)
