"""What the isolation levels share: base classes of sandboxes and sessions, and the environment of programs."""

from __future__ import annotations

import contextlib
import os
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import cache
from pathlib import Path

from demeanor.core.text.wording import printable
from demeanor.core.trees.nofollow import find_beneath, read_beneath
from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_io import tree_path_problem
from demeanor.core.values.errors import WorldError
from demeanor.core.values.ports import CommandResult, SandboxSession, Template
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.core.values.sandbox_spec import Ceilings, Network
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.process import SupervisedProcess, supervise, supervise_blocking
from demeanor.sandboxes.host.runtime import SandboxRuntime, in_thread
from demeanor.sandboxes.host.seccomp import Reach, filter_for

_VERIFY_TIMEOUT = 30.0
_COMMAND_OUTPUT = 2**20
_MAX_FILE_BYTES = 32 * 2**20
_MAX_FILES = 100


class SandboxLevel(ABC):
    """An isolation level, as named by `--sandbox`."""

    name: str

    def __init__(
        self,
        runtime: SandboxRuntime,
        *,
        path: str | None = None,
        pass_env: Sequence[str] = (),
        ceilings: Ceilings | None = None,
        network: Network = "gateway",
    ) -> None:
        self._runtime = runtime
        self._path = path if path is not None else os.environ.get("PATH", os.defpath)
        self._pass_env = tuple(pass_env)
        self._ceilings = ceilings or Ceilings()
        self._network = network
        self.probe_facts: dict[str, str] = {}
        """The results of the probes; a part of `facts`."""

    @property
    @abstractmethod
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this level."""

    @property
    def folder(self) -> Path:
        """The folder of the run's attempts. It is removed at the end, also when Demeanor itself is killed."""
        return self._runtime.launcher().folder

    def start_early(self) -> None:
        """Start the fork server, which takes a while to be ready; its death or failure is reported when it is used."""
        with contextlib.suppress(WorldError):
            self._runtime.launcher()

    def verify(self) -> None:
        """Run a program in the sandbox; raises WorldError when that does not work."""
        self._verify("echo works")

    def _verify(self, script: str, hint: str = "") -> None:
        result = self.command(Tree(), ("sh", "-c", script), timeout=_VERIFY_TIMEOUT)
        if result.stdout != "works\n":
            ended = "did not end" if result.timed_out else f"ended with exit code {result.exit_code}"
            said = f": {printable(result.stderr.strip() or result.stdout.strip())}".removesuffix(": ")
            raise WorldError(VoidCause.SANDBOX, f"a test program in the sandbox {ended}{said}{hint}")

    async def start(self) -> None:
        """Start the fork server; raises WorldError when that is not possible."""
        self._runtime.launcher()

    async def stop(self) -> None:
        """Remove the folder, and stop the fork server."""
        await in_thread(self._runtime.close)

    @abstractmethod
    def open_session(
        self, template: Template, *, network: Network | None = None
    ) -> AbstractAsyncContextManager[SandboxSession]:
        """A new session whose workspace starts as the template; `network` overrides that of the level."""

    @abstractmethod
    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a temporary copy of a workspace; for checks, called from a worker thread."""

    def program_environment(self, path: str, home: str, temp: str) -> dict[str, str]:
        """The environment of a program: nothing else of the host's environment is visible to it."""
        passed = {name: os.environ[name] for name in self._pass_env if name in os.environ}
        return {
            "PATH": path,
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "USER": "agent",
            **passed,
            "HOME": home,
            "TMPDIR": temp,
            "TMUX_TMPDIR": temp,
            "XDG_CONFIG_HOME": f"{home}/.config",
            "XDG_CACHE_HOME": f"{home}/.cache",
            "XDG_DATA_HOME": f"{home}/.local/share",
            "XDG_STATE_HOME": f"{home}/.local/state",
        }


class LevelSession(ABC):
    """One attempt's session, and the programs run in it."""

    spool: Path | None = None
    """A new folder for files that are too large to keep, until the attempt is judged."""

    @property
    def address(self) -> tuple[str, int] | None:
        """The address of `listener`, as programs in the sandbox see it."""
        if self.listener is None:
            return None
        host, port = self.listener.getsockname()[:2]
        return str(host), int(port)

    @property
    @abstractmethod
    def listener(self) -> socket.socket | None:
        """A listening socket that only this session's programs can connect to."""

    async def prepare(self, launches: Sequence[Launch]) -> None:  # noqa: B027 - levels may override it
        """Prepare the sandbox for these programs; most levels do that when the first program starts."""

    async def look(self) -> Tree:
        """The workspace's content now, while programs may still run."""
        return await self.snapshot()

    @abstractmethod
    async def snapshot(self) -> Tree:
        """The workspace's content, after the last program."""

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns or raises, every process it started is gone."""
        program = self._start(launch, limits)
        try:
            return await supervise(program, last_activity)
        finally:
            program.close()

    @abstractmethod
    def _start(self, launch: Launch, limits: Limits) -> SupervisedProcess:
        """Start a program."""


def command_limits(timeout: float) -> Limits:
    """The limits of a check's command."""
    return Limits(wall=timeout, grace=0.0, output_bytes=_COMMAND_OUTPUT)


def command_result(program: SupervisedProcess) -> CommandResult:
    """Wait for a check's command, in a worker thread."""
    try:
        end = supervise_blocking(program)
    finally:
        program.close()
    return CommandResult(
        exit_code=end.exit_code if end.exit_code is not None else -(end.signal or 0),
        stdout=end.stdout.text,
        stderr=end.stderr.text,
        timed_out=end.ended_by != "exit",
    )


def check_home_files(files: Mapping[str, bytes]) -> None:
    """Raise ValueError for a path that leads out of HOME."""
    for path in files:
        problem = tree_path_problem(path)
        if problem:
            raise ValueError(f"home file {path!r} {problem}")


def read_home_files(home: Path | int, patterns: tuple[str, ...]) -> dict[str, bytes]:
    """The files in HOME that match one of the patterns; links are not followed."""
    files = {}
    for pattern in patterns:
        for path in find_beneath(home, pattern, at_most=_MAX_FILES):
            content = read_beneath(home, path, at_most=_MAX_FILE_BYTES)
            if content is not None:
                files[path] = content
    return files


@cache
def seccomp_filter(reach: Reach = "private", *, ignores_owners: bool = False) -> bytes:
    """The seccomp filter for this machine; raises WorldError for an unknown machine."""
    rules = filter_for(os.uname().machine, reach, ignores_owners=ignores_owners)
    if rules is None:
        raise WorldError(VoidCause.SANDBOX, f"there is no seccomp filter for the architecture {os.uname().machine}")
    return rules
