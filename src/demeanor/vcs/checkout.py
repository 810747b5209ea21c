"""Commits of the project, checked out and built: each in a git worktree of its own, which goes when it is done with.

The user's own working tree is never touched: no stash, no checkout. The build command is the project's own code, so it
runs on this machine as the user would run it, outside of any sandbox; whoever asks for a checkout says so first.

A worktree is removed whatever happens: an error, Ctrl-C, TERM. One whose Demeanor was killed outright is removed by
the next that makes one.
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
_OURS = re.compile(rf"/{_PREFIX}(\d+)-[^/]+/tree$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkout:
    """A commit that is checked out and built."""

    revision: str
    """As it was asked for."""

    commit: str
    """The whole hash."""

    folder: Path
    """The top of its worktree."""

    config: Config
    """The project's configuration as it is now, with the worktree as its root: programs are taken from there."""


class BuildFailed(UsageError):
    """What was checked out can't be built."""


def resolve(root: Path, revision: str) -> str:
    """The commit that a revision stands for; an error where git knows none."""
    try:
        return commit_of(root, revision)
    except GitError as error:
        raise UsageError(f"{revision!r} is no revision of {root}: {error}\n  → name a branch, tag or commit") from None


@contextmanager
def checked_out(
    config: Config,
    revision: str,
    *,
    environ: Mapping[str, str],
    tell: Callable[[str], None] = lambda line: None,
    change: Callable[[Path], None] | None = None,
) -> Iterator[Checkout]:
    """Check a revision out, `change` what is there, and build it; `tell` hears what is done, before it is."""
    commit = resolve(config.root, revision)
    with _terminable():
        top = top_of(config.root)
        _sweep(top)
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
            _build(config.build, root, what, home / "build.log", environ, tell)
            yield Checkout(revision=revision, commit=commit, folder=folder, config=_moved(config, root))
        finally:
            _remove(top, folder, home)


def top_of(root: Path) -> Path:
    """The top of the repository that a folder is in."""
    try:
        return Path(git(root, "rev-parse", "--show-toplevel").strip()).resolve()
    except GitError as error:
        raise UsageError(f"{root} is in no git repository: {error}") from None


def _add(top: Path, folder: Path, commit: str) -> None:
    try:
        git(top, "worktree", "add", "--detach", "--quiet", str(folder), commit)
    except GitError as error:
        raise UsageError(f"{commit[:12]} can't be checked out: {error}") from None


def _moved(config: Config, root: Path) -> Config:
    """The configuration for a worktree: agents come from there, but what is kept is kept where it always is."""

    def there(place: str) -> str:
        return place if not place or "://" in place else str(config.root / place)

    return replace(
        config,
        root=root,
        file=root / config.where.name,
        results=there(config.results),
        store=there(config.store),
        captures=there(config.captures),
        cassettes=there(config.cassettes),
        harbor=replace(config.harbor, program=config.harbor.command(config.root)),
    )


def _build(
    rules: BuildRules, root: Path, what: str, log: Path, environ: Mapping[str, str], tell: Callable[[str], None]
) -> None:
    if not rules.command:
        tell(f"checked out {what}; nothing is built: the configuration names no build command")
        return
    shown = " ".join(rules.command)
    tell(f"building {what} with `{shown}`, on this machine as your own code, outside of any sandbox")
    process: subprocess.Popen[bytes] | None = None
    with log.open("wb") as out:
        try:
            with _signals_deferred():  # an interrupted Popen would leave a process that is known to nobody
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
            raise BuildFailed(f"build = {shown!r}: can't be started: {error.strerror}") from None
        except subprocess.TimeoutExpired:
            raise BuildFailed(f"build = {shown!r}: {what} was not built within {rules.timeout:g} s") from None
        finally:
            if process is not None:
                _end(process)
    if code != 0:
        said = excerpt(log.read_bytes()[-20_000:].decode("utf-8", "replace"), lines=20)
        raise BuildFailed(f"build = {shown!r}: exit code {code} for {what}\n{said}")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the build with all that it started; what has ended already is not there any more."""
    with _signals_deferred():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _remove(top: Path, folder: Path, home: Path) -> None:
    """Take a worktree down, whether or not it was made."""
    try:
        git(top, "worktree", "remove", "--force", "--force", str(folder))
    except GitError:  # it was not made, or not wholly
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(GitError):
            git(top, "worktree", "prune")
    shutil.rmtree(home, ignore_errors=True)


def _sweep(top: Path) -> None:
    """Remove the worktrees of a Demeanor that was killed."""
    with suppress(GitError):
        for line in git(top, "worktree", "list", "--porcelain").splitlines():
            path = line.removeprefix("worktree ")
            match = _OURS.search(path)
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
def _terminable() -> Iterator[None]:
    """Let TERM end what goes on here as Ctrl-C does: with everything put away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ended(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, ended)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _signals_deferred() -> Iterator[None]:
    """Let Ctrl-C and TERM take effect only afterwards. They are not blocked, since a child would inherit that."""
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
