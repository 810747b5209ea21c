"""`--sandbox landlock`: agents read an allow-list, write their own folders, and connect to their gateway's port.

For machines where user namespaces can't be made. It keeps less apart than bubblewrap: docs/sandboxes.md says what.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.ports import CommandResult, Template
from demeanor.core.process import Launch, Limits, ProcessEnd
from demeanor.core.sandbox_spec import Ceilings, Network
from demeanor.core.tree import Tree
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import HOME, TEMP, WORKSPACE, AttemptDir
from demeanor.sandboxes.host.bwrap_args import path_seen, to_show
from demeanor.sandboxes.host.copytree import SMALL, TemplateCopy, read_master, remove
from demeanor.sandboxes.host.landlock_client import LandlockClient, LandlockSpec, launch_message
from demeanor.sandboxes.host.landlock_paths import check_readable, devices, readable
from demeanor.sandboxes.host.process import SupervisedProcess, supervise
from demeanor.sandboxes.host.runtime import (
    SandboxRuntime,
    base_environment,
    command_limits,
    command_result,
    environment,
    in_thread,
    prove_by,
)
from demeanor.sandboxes.host.seccomp import filter_for
from demeanor.sandboxes.host.uids import give_to, own_user, spare_user
from demeanor.sandboxes.levels.none import NoneSession
from demeanor.sandboxes.supervisor import landlock_abi as ruleset


class LandlockSandbox:
    """Each attempt runs behind a fence of its own."""

    name = "landlock"

    def __init__(
        self,
        root: Path | None = None,
        pass_env: Sequence[str] = (),
        path: str | None = None,
        *,
        ceilings: Ceilings | None = None,
        network: Network = "gateway",
    ) -> None:
        self._path = path if path is not None else os.environ.get("PATH", os.defpath)
        self._pass_env = tuple(pass_env)
        self._ceilings = ceilings or Ceilings()
        mode = 0o711 if os.getuid() == 0 else 0o700  # whom root becomes must be able to enter what is its own
        self._runtime = SandboxRuntime(root, mode, memory=self._ceilings.memory)
        self._network = network
        self.proof: dict[str, str] = {}
        """What was proven of it."""
        self._masters: dict[Path, TemplateCopy] = {}

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this level, and of what it leaves open."""
        most = self._ceilings
        version = ruleset.version()
        own = spare_user() not in {None, own_user()}
        return {
            "sandbox": self.name,
            "ends": "process tree",
            "network": self._network,
            "landlock": f"version {version}",
            "open.address": "any, at the port of the gateway",
            "open.processes": "seen" if version >= ruleset.SIGNALS else "seen and signalled",
            "open.permissions": "none" if os.getuid() == 0 else "of this user's files everywhere",
            "open.tmp": "shared, and out of reach: TMPDIR is its own",
            "limit.wall": "hard",
            "limit.idle": "hard",
            "limit.processes": f"{'hard' if own else 'soft'} {most.processes}",
            "limit.disk": "unsupported",
            "limit.file_size": f"hard {most.disk}",
            "limit.files": "unsupported",
            "limit.memory": f"{'hard' if self._runtime.branch else 'soft'} {most.memory}",
            "limit.output": "hard",
            **self.proof,
        }

    @property
    def folder(self) -> Path:
        """Everything lies in here; it is removed at the end, also when Demeanor itself is killed."""
        return self._runtime.ready().folder

    def prove(self) -> None:
        """Run a program in it, really; raises WorldError where that does not work."""
        script = 'cd "$HOME" && echo works > "$TMPDIR/x" && cat "$TMPDIR/x"'
        hint = "; may other users enter the temp folder?" if os.getuid() == 0 else ""
        prove_by(self.command, script, hint)

    async def start(self) -> None:
        """Make ready; raises WorldError where that is not possible."""
        self._runtime.ready()

    async def stop(self) -> None:
        """Take everything down."""
        await in_thread(self._runtime.leave)

    @asynccontextmanager
    async def bench(self, template: Template, *, network: Network | None = None) -> AsyncIterator[LandlockSession]:
        """A fresh bench whose workspace is a copy of the template."""
        calls = _calls(network or self._network)
        master = self._masters.get(template.folder)
        if master is None:
            master = self._masters[template.folder] = await in_thread(read_master, template.folder)
        place = AttemptDir(self._runtime.new_path(), master)
        uid = own_user()
        client: LandlockClient | None = None
        door: socket.socket | None = None
        try:
            try:
                await in_thread(_lay_out, place, uid)
                if (network or self._network) == "gateway":
                    door = socket.create_server(("127.0.0.1", 0), backlog=128)
            except OSError as error:
                raise WorldError(VoidCause.SANDBOX, f"the bench can't be set up: {error}") from error
            client = LandlockClient(self._runtime.ready())
            grounds = LandlockSpec(place=place.path, uid=uid, door=door, network=network or self._network, filter=calls)
            yield LandlockSession(place, self, client, grounds, template.tree)
        finally:
            if client is not None:
                client.close()
            if door is not None:
                with contextlib.suppress(OSError):  # the gateway may have closed it
                    door.close()
            if not remove(place.path, at_most=SMALL):
                await in_thread(remove, place.path)

    def start_program(
        self, client: LandlockClient, grounds: LandlockSpec, launch: Launch, limits: Limits
    ) -> SupervisedProcess:
        """Start a program behind the fence."""
        shown = to_show(launch.reads)
        if grounds.uid != os.getuid():
            check_readable(shown)
        place, most = grounds.place, self._ceilings
        base = base_environment(path_seen(self._path, shown), self._pass_env)
        message = launch_message(
            {
                "argv": list(launch.argv),
                "env": {**environment(base, f"{place}/{HOME}", f"{place}/{TEMP}"), **launch.env},
                "cwd": f"{place}/{WORKSPACE}",
                "uid": grounds.uid,
                "reads": [*readable(host_network=grounds.network == "host"), *shown],
                "uses": list(devices()),
                "writes": [f"{place}/{name}" for name in (WORKSPACE, HOME, TEMP)],
                "ports": None if grounds.network == "host" else [grounds.port] if grounds.port else [],
                "filter": grounds.filter,
                "processes": most.processes,
                "memory": most.memory,
                "rlimits": {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": most.disk},
            }
        )
        return SupervisedProcess(client, message, name=launch.argv[0] if launch.argv else "", limits=limits)

    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a throw-away copy of a workspace; for checks, called from a worker thread."""
        calls, uid = _calls("none"), own_user()
        with self._runtime.laid_out(tree, uid if os.getuid() == 0 else None) as place:
            client = LandlockClient(self._runtime.ready())
            try:
                grounds = LandlockSpec(place=place, uid=uid, door=None, network="none", filter=calls)
                return command_result(self.start_program(client, grounds, Launch(argv=argv), command_limits(timeout)))
            finally:
                client.close()


class LandlockSession(NoneSession):
    """One attempt's folders, and the programs run in them behind the fence."""

    def __init__(
        self, place: AttemptDir, sandbox: LandlockSandbox, client: LandlockClient, grounds: LandlockSpec, before: Tree
    ) -> None:
        super().__init__(place, client.launcher, {}, before)
        self._sandbox = sandbox
        self._client = client
        self._grounds = grounds

    @property
    def listener(self) -> socket.socket | None:
        """A socket at a port of its own, the only one that this bench's programs can connect to."""
        return self._grounds.door

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this bench."""
        return {"network": self._grounds.network, "disk": "copy"}

    def write_home_files(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files into HOME, before the first program runs."""
        super().write_home_files(files)
        if os.getuid() == 0:
            give_to(str(self.home), self._grounds.uid)

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns or raises, every process it started is gone."""
        program = self._sandbox.start_program(self._client, self._grounds, launch, limits)
        try:
            return await supervise(program, last_activity)
        finally:
            program.close()


def _lay_out(place: AttemptDir, uid: int) -> None:
    place.make()
    if os.getuid() == 0:
        give_to(place.path, uid)


@cache
def _calls(network: Network) -> bytes:
    """The filter for this machine; raises WorldError where something that is needed is missing."""
    if sys.platform != "linux":
        raise WorldError(VoidCause.SANDBOX, f"landlock needs Linux, and this is {sys.platform}")
    problem = ruleset.obstacle(ruleset.version())
    if problem:
        raise WorldError(VoidCause.SANDBOX, problem)
    rules = filter_for(os.uname().machine, network)
    if rules is None:
        raise WorldError(VoidCause.SANDBOX, f"no filter of system calls is known for {os.uname().machine}")
    return rules
