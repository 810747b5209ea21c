"""`--sandbox docker` and `--sandbox podman`: each attempt in a container of its own, which is removed with it.

For machines where containers are what is trusted. What it promises, and what it does not, is said in docs/sandboxes.md.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.ports import CommandResult, Template
from demeanor.core.process import Launch, Limits, ProcessEnd
from demeanor.core.sandbox_spec import Ceilings, Network
from demeanor.core.tree import Tree
from demeanor.core.tree_io import Known, scan
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import WORKSPACE
from demeanor.sandboxes.host.bwrap_args import PORT, TEMP_SEEN, etc_folders, lay_etc, path_seen, system_folders, to_show
from demeanor.sandboxes.host.container_cli import ContainerEngine, ContainerSpec, EngineName, find_engine, image, whom
from demeanor.sandboxes.host.container_client import PYTHON_READS, SEES, ContainerClient, launch_message
from demeanor.sandboxes.host.process import SupervisedProcess, supervise
from demeanor.sandboxes.host.runtime import (
    SandboxRuntime,
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
from demeanor.sandboxes.supervisor.container_init import ROOM, START
from demeanor.sandboxes.supervisor.namespaces import HOME, MERGED

_HOME_SEEN = f"{ROOM}/{HOME}"


class ContainerSandbox:
    """Each attempt runs in a container of its own."""

    def __init__(
        self,
        engine: EngineName,
        root: Path | None = None,
        pass_env: Sequence[str] = (),
        path: str | None = None,
        *,
        ceilings: Ceilings | None = None,
        network: Network = "gateway",
    ) -> None:
        self.name: str = engine
        self._engine_name: EngineName = engine
        self._path = path if path is not None else os.environ.get("PATH", os.defpath)
        self._pass_env = tuple(pass_env)
        self._runtime = SandboxRuntime(root)
        self._ceilings = ceilings or Ceilings()
        self._network = network
        self.proof: dict[str, str] = {}
        """What was proven of it."""
        self._found: tuple[ContainerEngine, str] | None = None
        self._held: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this level."""
        most, hard = self._ceilings, "memory" in self._held
        all_in_all = most.memory + most.disk
        return {
            "sandbox": self.name,
            "engine": f"{self.name} {self._found[0].version}" if self._found else self.name,
            "ends": "the container is removed",
            "network": self._network,
            "limit.wall": "hard",
            "limit.idle": "hard",
            "limit.processes": f"{'hard' if 'processes' in self._held else 'soft'} {most.processes}",
            "limit.disk": f"hard {most.disk}, and as much in /tmp",
            "limit.files": "unsupported",
            "limit.memory": f"soft {most.memory}" + (f", hard {all_in_all} with the disk" if hard else ""),
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
        await in_thread(self._means)

    async def stop(self) -> None:
        """Take everything down."""
        await in_thread(self._runtime.leave)

    @asynccontextmanager
    async def bench(self, template: Template, *, network: Network | None = None) -> AsyncIterator[ContainerSession]:
        """A fresh bench whose workspace starts as the template."""
        start = await self._runtime.start_of(template.folder)
        bench = ContainerSession(self, start, template.tree, network or self._network)
        try:
            yield bench
        finally:
            await in_thread(bench.close)

    def _means(self) -> tuple[ContainerEngine, str]:
        """The engine, and the image that containers are made of; raises WorldError where they can't be had."""
        with self._lock:
            if self._found is None:
                engine = find_engine(self._engine_name)
                self._found = engine, image(engine)
            return self._found

    def set_out(self, start: str, reads: tuple[str, ...], network: Network) -> ContainerClient:
        """A container for programs that read these, from a starting state of the workspace; for a worker thread."""
        engine, root = self._means()
        folder = Path(self._runtime.new_path())
        folder.mkdir()
        plan = ContainerSpec(
            name=f"{self.folder.name}-{folder.name}",
            image=root,
            user="{}:{}".format(*whom(engine, spare_user())),
            network=network,
            ceilings=self._ceilings,
            shows=self._shows(engine, start, reads, network),
        )
        client = ContainerClient(engine, plan, str(folder))
        order = {
            "filter": _filter(),
            "port": PORT if network == "gateway" else None,
            "memory": self._ceilings.memory,
            "most": self._ceilings.memory + self._ceilings.disk,
            "processes": self._ceilings.processes,
        }
        try:
            client.start(order)
            self._held = client.held
        except BaseException:
            client.close()
            raise
        return client

    def _shows(self, engine: ContainerEngine, start: str, reads: tuple[str, ...], network: Network) -> dict[str, str]:
        shows = {path: path for path in system_folders()}
        shows["/etc"] = self._etc(whom(engine, spare_user())[0])
        for name in (*etc_folders(), *(("resolv.conf", "hosts") if network == "host" else ())):
            shows[f"/etc/{name}"] = os.path.realpath(f"/etc/{name}")
        shows |= {path: path for path in to_show((*PYTHON_READS, *reads))}
        return {**shows, **SEES, START: start}

    def _etc(self, uid: int) -> str:
        folder = self.folder / "etc"
        with self._lock:
            if not folder.exists():
                lay_etc(folder, uid, _HOME_SEEN)
        return str(folder)

    def start_program(
        self, client: ContainerClient, launch: Launch, home: Mapping[str, bytes], limits: Limits
    ) -> SupervisedProcess:
        """Start a program in a container."""
        base = base_environment(path_seen(self._path, to_show(launch.reads)), self._pass_env)
        env = {**environment(base, _HOME_SEEN, TEMP_SEEN), **launch.env}
        message = launch_message(launch.argv, env, home)
        return SupervisedProcess(client, message, name=launch.argv[0] if launch.argv else "", limits=limits)

    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a throw-away copy of a workspace; for checks, called from a worker thread."""
        with self._runtime.laid_out(tree, spare_user()) as place:
            client = self.set_out(f"{place}/{WORKSPACE}", (), "none")
            try:
                return command_result(self.start_program(client, Launch(argv=argv), {}, command_limits(timeout)))
            finally:
                client.close()


class ContainerSession:
    """One attempt's container, and the programs run in it."""

    workspace = Path(f"{ROOM}/{MERGED}")
    home = Path(_HOME_SEEN)

    def __init__(self, sandbox: ContainerSandbox, start: str, before: Tree, network: Network) -> None:
        self._sandbox = sandbox
        self._start = start
        self._before = before
        self._network = network
        self._client: ContainerClient | None = None
        self._reads: tuple[str, ...] = ()
        self._home_files: dict[str, bytes] = {}

    @property
    def address(self) -> tuple[str, int] | None:
        """Where programs find whoever serves the door."""
        return ("127.0.0.1", PORT) if self._network == "gateway" else None

    @property
    def listener(self) -> socket.socket | None:
        """The socket on which this bench's programs, and nobody else, can reach whoever serves it."""
        return self._client.door if self._client else None

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this bench."""
        return {"network": self._network, "disk": "copy"}

    def write_home_files(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files into HOME, before the first program runs."""
        check_home_files(files)
        self._home_files.update(files)

    async def furnish(self, launches: Sequence[Launch]) -> None:
        """Start the container: what it shows can't be changed any more."""
        self._reads = to_show(path for launch in launches for path in launch.reads)
        try:
            await in_thread(self._set_out)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the bench can't be set up: {error}") from error

    def _set_out(self) -> None:
        """In the thread, so that it is known and closed also where nobody waits for it any more."""
        self._client = self._sandbox.set_out(self._start, self._reads, self._network)

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns or raises, every process it started is gone."""
        if self._client is None:
            await self.furnish((launch,))
        if not set(to_show(launch.reads)) <= set(self._reads) or self._client is None:
            raise WorldError(VoidCause.SANDBOX, "all programs of an attempt must read the same of the host")
        files, self._home_files = self._home_files, {}
        program = self._sandbox.start_program(self._client, launch, files, limits)
        try:
            return await supervise(program, last_activity)
        finally:
            program.close()

    def leavings(self, paths: tuple[str, ...]) -> dict[str, bytes]:
        """Files that the agent left in its HOME, as far as they are there; links are not followed."""
        if self._client is None or self._client.disk is None:
            return {}
        return leavings_in(Path(f"/proc/self/fd/{self._client.disk}", HOME), paths)

    async def snapshot(self) -> Tree:
        """The workspace's content, when the container is gone."""
        client = self._client
        if client is None or client.disk is None:
            return self._before
        await in_thread(client.end)
        look = partial(scan, Path(f"/proc/self/fd/{client.disk}", MERGED), known=Known(entries=self._before.entries))
        return await in_thread(look)

    def close(self) -> None:
        """Leave: the container is removed; for a worker thread."""
        if self._client is not None:
            self._client.close()


@cache
def _filter() -> bytes:
    rules = filter_for(os.uname().machine)
    if rules is None:
        raise WorldError(VoidCause.SANDBOX, f"no filter of system calls is known for {os.uname().machine}")
    return rules
