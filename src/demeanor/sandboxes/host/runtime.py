"""What every level has: a folder that goes whatever happens, the nursery, and the environment that a program gets."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

from demeanor.core.errors import WorldError
from demeanor.core.nofollow import find_beneath, read_beneath
from demeanor.core.ports import CommandResult
from demeanor.core.process import Limits
from demeanor.core.tree import Tree
from demeanor.core.tree_io import restore, tree_path_problem
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import HOME, TEMP, WORKSPACE
from demeanor.sandboxes.host.copytree import remove
from demeanor.sandboxes.host.launcher import Launcher
from demeanor.sandboxes.host.process import SupervisedProcess, attend_blocking
from demeanor.sandboxes.host.uids import give_to, spare_user
from demeanor.sandboxes.supervisor.cgroup import Branch, branch

T = TypeVar("T")
_PROOF_TAKES = 30.0
"""Seconds for which a sandbox may take to run its first program."""

_COMMAND_OUTPUT = 2**20
_LEAVING = 32 * 2**20
_LEAVINGS = 100


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call `function` in a thread. Even where this is cancelled, it is not left before the call has ended."""
    call = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        while not call.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([call])
        raise


def environment(base: Mapping[str, str], home: str, temp: str) -> dict[str, str]:
    """All that a program gets to know of the host, and where its own folders are."""
    return {
        **base,
        "HOME": home,
        "TMPDIR": temp,
        "TMUX_TMPDIR": temp,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
    }


def address_of(listener: socket.socket | None) -> tuple[str, int] | None:
    """Where a socket listens."""
    if listener is None:
        return None
    host, port = listener.getsockname()[:2]
    return str(host), int(port)


def base_environment(path: str, pass_env: tuple[str, ...] = ()) -> dict[str, str]:
    """What is the same for every program."""
    passed = {name: os.environ[name] for name in pass_env if name in os.environ}
    return {"PATH": path, "LANG": "C.UTF-8", "TERM": "dumb", "USER": "agent", **passed}


def command_limits(timeout: float) -> Limits:
    """What a command of a check may use."""
    return Limits(wall=timeout, grace=0.0, output_bytes=_COMMAND_OUTPUT)


def command_result(program: SupervisedProcess) -> CommandResult:
    """How a command of a check ends, seen through in a worker thread."""
    try:
        end = attend_blocking(program)
    finally:
        program.close()
    return CommandResult(
        exit_code=end.exit_code if end.exit_code is not None else -(end.signal or 0),
        stdout=end.stdout.text,
        stderr=end.stderr.text,
        timed_out=end.ended_by != "exit",
    )


def prove_by(command: Callable[..., CommandResult], script: str = "echo works", hint: str = "") -> None:
    """Run a program that says that it works, really; raises WorldError where it does not."""
    result = command(Tree(), ("sh", "-c", script), timeout=_PROOF_TAKES)
    if result.stdout != "works\n":
        raise WorldError(VoidCause.SANDBOX, f"a program in the sandbox gave {result}{hint}")


def check_home_files(files: Mapping[str, bytes]) -> None:
    """Raise ValueError for a path that leads out of HOME."""
    for path in files:
        problem = tree_path_problem(path)
        if problem:
            raise ValueError(f"home file {path!r} {problem}")


def leavings_in(home: Path | int, paths: tuple[str, ...]) -> dict[str, bytes]:
    """Files that the agent left in its HOME, as far as they are there; links are not followed."""
    found = {}
    for pattern in paths:
        for path in find_beneath(home, pattern, at_most=_LEAVINGS):
            content = read_beneath(home, path, at_most=_LEAVING)
            if content is not None:
                found[path] = content
    return found


class SandboxRuntime:
    """The folder of a run's benches and the nursery of its supervisors, made when they are first needed."""

    def __init__(self, root: Path | None = None, mode: int = 0o700, memory: int | None = None) -> None:
        """`memory` is how much each attempt may hold; None where that is not looked after."""
        self._root = root
        self._mode = mode
        self._memory = memory
        self._lock = threading.Lock()
        self._launcher: Launcher | None = None
        self._numbers = itertools.count(1)
        self._starts: dict[Path, str] = {}

    def ready(self) -> Launcher:
        """The launcher; raises WorldError where none can be had."""
        with self._lock:
            if self._launcher is None:
                self._launcher = self._new_launcher()
            return self._launcher

    def _new_launcher(self) -> Launcher:
        """A launcher with a folder of its own. Who removes the folder is there before it is made."""
        root = Path(self._root or tempfile.gettempdir()).absolute()
        launcher = Launcher(root / f"demeanor-{os.urandom(6).hex()}", self.branch)
        launcher.start()
        try:
            launcher.folder.mkdir(mode=0o700)
            launcher.folder.chmod(self._mode)
        except OSError as error:
            launcher.stop()
            raise WorldError(VoidCause.SANDBOX, f"no folder for benches can be made: {error}") from None
        return launcher

    @property
    def branch(self) -> Branch | None:
        """Where attempts get control groups of their own; None where they can't have any."""
        return None if self._memory is None else _branch(self._memory)

    def new_path(self) -> str:
        """The name of a folder that is not there yet."""
        return f"{self.ready().folder}/{next(self._numbers)}"

    async def start_of(self, folder: Path) -> str:
        """A starting state as a room can have it: where root gives up its rights, it belongs to whom root becomes."""
        known = self._starts.get(folder)
        if known is None:
            known = self._starts[folder] = await in_thread(self._given_away, folder)
        return known

    def _given_away(self, folder: Path) -> str:
        uid = spare_user()
        if uid is None:
            return str(folder)
        if not folder.is_relative_to(self.ready().folder):
            copied = self.new_path()
            subprocess.run(["cp", "-a", f"{folder}/.", f"{copied}/"], check=True, capture_output=True)
            folder = Path(copied)
        give_to(str(folder), uid)
        return str(folder)

    @contextmanager
    def laid_out(self, tree: Tree, uid: int | None = None) -> Iterator[str]:
        """A throw-away place with a workspace in it, which belongs to somebody else where `uid` says so."""
        place = self.new_path()
        try:
            for name in ("", HOME, TEMP, WORKSPACE):
                Path(place, name).mkdir(mode=0o700)
            restore(tree, Path(place, WORKSPACE))
            if uid is not None:
                give_to(place, uid)
            yield place
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the workspace can't be laid out for a command: {error}") from error
        finally:
            remove(place)

    def leave(self) -> None:
        """Remove the folder, and let the nursery end."""
        with self._lock:
            launcher, self._launcher = self._launcher, None
        if launcher:
            try:
                remove(str(launcher.folder))
            finally:
                launcher.stop()


@cache
def _branch(memory: int) -> Branch | None:
    """Where control groups can be made; None where they can't, or where nobody can be moved to one after all."""
    found = branch(memory)
    if found is None:
        return None
    with subprocess.Popen(["/bin/sh", "-c", "read -r never"], stdin=subprocess.PIPE) as somebody:
        try:
            found.grow(somebody.pid)
        except OSError:
            works = False
        else:
            works = True
    found.leaf(somebody.pid).remove()
    return found if works else None
