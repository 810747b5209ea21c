"""`--sandbox bubblewrap`: agents see an allow-list of the host, one socket, and each other not at all.

What this level promises, and what it does not, is said in docs/sandboxes.md.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.overlay import Layer
from demeanor.core.ports import CommandResult, Template
from demeanor.core.process import Launch, Limits, ProcessEnd
from demeanor.core.sandbox_spec import Ceilings, Network
from demeanor.core.tree import Tree
from demeanor.core.tree_io import Known, TooMany, scan
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import WORKSPACE
from demeanor.sandboxes.host.bwrap_args import (
    HOME_SEEN,
    PORT,
    TEMP_SEEN,
    WORKSPACE_SEEN,
    arguments,
    lay_etc,
    path_seen,
    to_show,
)
from demeanor.sandboxes.host.bwrap_client import BwrapClient, BwrapSpec, launch_message
from demeanor.sandboxes.host.copytree import SMALL
from demeanor.sandboxes.host.process import SupervisedProcess, supervise
from demeanor.sandboxes.host.runtime import (
    SandboxRuntime,
    address_of,
    base_environment,
    check_home_files,
    command_limits,
    command_result,
    environment,
    in_thread,
    leavings_in,
    prove_by,
)
from demeanor.sandboxes.host.seccomp import filter_for
from demeanor.sandboxes.host.uids import spare_user
from demeanor.sandboxes.supervisor.bwrap_supervisor import FILTER, STATUS
from demeanor.sandboxes.supervisor.namespaces import HOME, MERGED, UPPER


class BubblewrapSandbox:
    """Each attempt runs behind walls of its own."""

    name = "bubblewrap"

    def __init__(
        self,
        root: Path | None = None,
        pass_env: Sequence[str] = (),
        path: str | None = None,
        *,
        ceilings: Ceilings | None = None,
        network: Network = "gateway",
        overlay: bool = True,
    ) -> None:
        self._path = path if path is not None else os.environ.get("PATH", os.defpath)
        self._pass_env = tuple(pass_env)
        self._ceilings = ceilings or Ceilings()
        self._runtime = SandboxRuntime(root, memory=self._ceilings.memory + self._ceilings.disk)
        self._network = network
        self._overlay = overlay
        self._laying = threading.Lock()
        self.proof: dict[str, str] = {}
        """What was proven of it."""

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this level."""
        most, branch = self._ceilings, self._runtime.branch
        return {
            "sandbox": self.name,
            "ends": "pid namespace",
            "network": self._network,
            "limit.wall": "hard",
            "limit.idle": "hard",
            "limit.processes": f"hard {most.processes}",
            "limit.disk": f"hard {most.disk}",
            "limit.files": f"hard {most.files}",
            "limit.memory": f"soft {most.memory}" + (f", hard {branch.memory} with the disk" if branch else ""),
            "limit.output": "hard",
            **self.proof,
        }

    @property
    def folder(self) -> Path:
        """Everything lies in here; it is removed at the end, also when Demeanor itself is killed."""
        return self._runtime.ready().folder

    def prove(self) -> None:
        """Run a program in it, really; raises WorldError where that does not work."""
        prove_by(self.command)

    async def start(self) -> None:
        """Make ready; raises WorldError where that is not possible."""
        self._runtime.ready()

    async def stop(self) -> None:
        """Take everything down."""
        await in_thread(self._runtime.leave)

    @asynccontextmanager
    async def bench(self, template: Template, *, network: Network | None = None) -> AsyncIterator[BubblewrapSession]:
        """A fresh bench whose workspace starts as the template."""
        lower = await self._runtime.start_of(template.folder)
        room = BwrapClient(self._runtime.ready(), self._plan(lower, network or self._network))
        try:
            await room.entered()
            yield BubblewrapSession(room, self, template.tree, network or self._network)
        finally:
            room.close()

    def _plan(self, lower: str, network: Network) -> BwrapSpec:
        ceilings = self._ceilings
        bwrap, rules = means()
        return BwrapSpec(
            bwrap=bwrap,
            filter=rules,
            lower=lower,
            network=network,
            port=PORT,
            uid=spare_user(),
            disk=ceilings.disk,
            inodes=ceilings.files,
            memory=ceilings.memory,
            rlimits={"RLIMIT_NPROC": ceilings.processes, "RLIMIT_CORE": 0},
            overlay=self._overlay,
        )

    def start_program(
        self,
        room: BwrapClient,
        launch: Launch,
        home: Mapping[str, bytes],
        limits: Limits,
        *,
        host_network: bool = False,
    ) -> SupervisedProcess:
        """Start a program in a room."""
        shown = to_show(launch.reads)
        base = base_environment(path_seen(self._path, shown), self._pass_env)
        env = {**environment(base, HOME_SEEN, TEMP_SEEN), **launch.env}
        words = arguments(env=env, shown=shown, fds=(FILTER, STATUS), host_network=host_network)
        message = launch_message(launch.argv, words, reads=(self._etc(), *shown), home=home)
        return SupervisedProcess(room, message, name=launch.argv[0] if launch.argv else "", limits=limits)

    def _etc(self) -> str:
        folder = self.folder / "etc"
        with self._laying:  # checks run commands in threads of their own
            if not folder.exists():
                lay_etc(folder)
        return str(folder)

    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a throw-away copy of a workspace; for checks, called from a worker thread."""
        with self._runtime.laid_out(tree, spare_user()) as place:
            room = BwrapClient(self._runtime.ready(), self._plan(f"{place}/{WORKSPACE}", "none"))
            try:
                room.entered_blocking()
                return command_result(self.start_program(room, Launch(argv=argv), {}, command_limits(timeout)))
            finally:
                room.close()


class BubblewrapSession:
    """One attempt's room, and the programs run in it."""

    workspace = Path(WORKSPACE_SEEN)
    home = Path(HOME_SEEN)

    def __init__(self, room: BwrapClient, sandbox: BubblewrapSandbox, before: Tree, network: Network) -> None:
        self._room = room
        self._sandbox = sandbox
        self._before = before
        self._network = network
        self._home_files: dict[str, bytes] = {}

    @property
    def address(self) -> tuple[str, int] | None:
        """Where programs find whoever serves the door."""
        return address_of(self._room.door)

    @property
    def listener(self) -> socket.socket | None:
        """The socket on which this bench's programs, and nobody else, can reach whoever serves it."""
        return self._room.door

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this bench."""
        return {"network": self._network, "disk": "overlay" if self._room.layered else "copy"}

    def write_home_files(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files into HOME, before the first program runs."""
        check_home_files(files)
        self._home_files.update(files)

    async def furnish(self, launches: Sequence[Launch]) -> None:
        """The room is furnished with the first program."""

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns or raises, every process it started is gone."""
        files, self._home_files = self._home_files, {}
        program = self._sandbox.start_program(self._room, launch, files, limits, host_network=self._network == "host")
        try:
            return await supervise(program, last_activity)
        finally:
            program.close()

    def leavings(self, paths: tuple[str, ...]) -> dict[str, bytes]:
        """Files that the agent left in its HOME, as far as they are there; links are not followed."""
        if self._room.disk is None:
            return {}
        home = os.open(HOME, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=self._room.disk)
        try:
            return leavings_in(home, paths)
        finally:
            os.close(home)

    async def snapshot(self) -> Tree:
        """The workspace's content now."""
        room, before = self._room, self._before
        if room.disk is None:
            return before
        look = partial(
            scan,
            Path(f"/proc/self/fd/{room.disk}", UPPER if room.layered else MERGED),
            known=Known(entries=before.entries),
        )
        try:
            return look(layer=Layer(before.entries) if room.layered else None, at_most=SMALL)
        except TooMany:
            return await in_thread(partial(look, layer=Layer(before.entries) if room.layered else None))


@cache
def _filter() -> bytes | None:
    return filter_for(os.uname().machine)


def means() -> tuple[str, bytes]:
    """bubblewrap, and the filter for this machine; raises WorldError where one of them is missing."""
    if sys.platform != "linux":
        raise WorldError(VoidCause.SANDBOX, f"bubblewrap needs Linux, and this is {sys.platform}")
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise WorldError(VoidCause.SANDBOX, "bwrap is not on PATH")
    rules = _filter()
    if rules is None:
        raise WorldError(VoidCause.SANDBOX, f"no filter of system calls is known for {os.uname().machine}")
    return bwrap, rules
