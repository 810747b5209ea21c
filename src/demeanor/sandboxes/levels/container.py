"""`--sandbox docker` and `--sandbox podman`: each attempt runs in its own container, which is removed at the end.

For machines where containers are the trusted kind of isolation. docs/sandboxes.md says what this level
guarantees, and what not.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_io import Known, scan
from demeanor.core.values.errors import WorldError
from demeanor.core.values.ports import CommandResult, Template
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.core.values.sandbox_spec import Ceilings, Network
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import WORKSPACE
from demeanor.sandboxes.host.bwrap_args import (
    PORT,
    TEMP_PATH,
    etc_folders,
    paths_to_bind,
    system_folders,
    visible_path,
    write_etc,
)
from demeanor.sandboxes.host.container_cli import (
    ContainerEngine,
    ContainerSpec,
    EngineName,
    container_user,
    ensure_image,
    find_engine,
)
from demeanor.sandboxes.host.container_client import INIT_MOUNTS, PYTHON_READS, ContainerClient
from demeanor.sandboxes.host.level import (
    LevelSession,
    SandboxLevel,
    check_home_files,
    command_limits,
    command_result,
    read_home_files,
    seccomp_filter,
)
from demeanor.sandboxes.host.messages import check_environment, check_words, encode
from demeanor.sandboxes.host.process import SupervisedProcess
from demeanor.sandboxes.host.runtime import SandboxRuntime, in_thread
from demeanor.sandboxes.host.uids import unused_uid
from demeanor.sandboxes.supervisor.container_init import DISK, START
from demeanor.sandboxes.supervisor.namespaces import HOME, MERGED

_HOME_PATH = f"{DISK}/{HOME}"


class ContainerSandbox(SandboxLevel):
    """Each attempt runs in its own container."""

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
        super().__init__(SandboxRuntime(root), path=path, pass_env=pass_env, ceilings=ceilings, network=network)
        self.name = engine
        self._engine_name: EngineName = engine
        self._found: tuple[ContainerEngine, str] | None = None
        self._enforced: frozenset[str] = frozenset()
        self._lock = threading.Lock()

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this level."""
        limits, hard = self._ceilings, "memory" in self._enforced
        total = limits.memory + limits.disk
        return {
            "sandbox": self.name,
            "engine": f"{self.name} {self._found[0].version}" if self._found else self.name,
            "ends": "the container is removed",
            "network": self._network,
            "limit.wall": "hard",
            "limit.idle": "hard",
            "limit.processes": f"{'hard' if 'processes' in self._enforced else 'soft'} {limits.processes}",
            "limit.disk": f"hard {limits.disk}, and as much in /tmp",
            "limit.files": "unsupported",
            "limit.memory": f"soft {limits.memory} (polling)"
            + (f", hard {total} with the disk (control group)" if hard else ""),
            "limit.output": "hard",
            **self.probe_facts,
        }

    async def start(self) -> None:
        """Start the fork server and find the engine; raises WorldError when that is not possible."""
        await super().start()
        await in_thread(self._engine_and_image)

    @asynccontextmanager
    async def open_session(
        self, template: Template, *, network: Network | None = None
    ) -> AsyncIterator[ContainerSession]:
        """A new session whose workspace starts as the template."""
        start = await self._runtime.readable_template(template.folder)
        session = ContainerSession(self, start, template.tree, network or self._network)
        session.spool = Path(self._runtime.unused_path())
        try:
            yield session
        finally:
            await in_thread(session.close)

    def _engine_and_image(self) -> tuple[ContainerEngine, str]:
        """The engine and the name of its image; raises WorldError when the engine does not work."""
        with self._lock:
            if self._found is None:
                engine = find_engine(self._engine_name)
                self._found = engine, ensure_image(engine)
            return self._found

    def start_container(self, start: str, reads: tuple[str, ...], network: Network) -> ContainerClient:
        """Start a container with that starting state and those readable paths; for a worker thread."""
        engine, image = self._engine_and_image()
        folder = Path(self._runtime.new_path())
        folder.mkdir()
        spec = ContainerSpec(
            name=f"{self.folder.name}-{folder.name}",
            image=image,
            user="{}:{}".format(*container_user(engine, unused_uid())),
            network=network,
            ceilings=self._ceilings,
            mounts=self._mounts(engine, start, reads, network),
        )
        client = ContainerClient(engine, spec, str(folder))
        init_spec = {
            "filter": seccomp_filter(),
            "port": PORT if network == "gateway" else None,
            "memory": self._ceilings.memory,
            "memory_and_disk": self._ceilings.memory + self._ceilings.disk,
            "processes": self._ceilings.processes,
        }
        try:
            client.start(init_spec)
            self._enforced = client.enforced
        except BaseException:
            client.close()
            raise
        return client

    def _mounts(self, engine: ContainerEngine, start: str, reads: tuple[str, ...], network: Network) -> dict[str, str]:
        mounts = {path: path for path in system_folders()}
        mounts["/etc"] = self._etc(container_user(engine, unused_uid())[0])
        for name in (*etc_folders(), *(("resolv.conf", "hosts") if network == "host" else ())):
            mounts[f"/etc/{name}"] = os.path.realpath(f"/etc/{name}")
        mounts |= {path: path for path in paths_to_bind((*PYTHON_READS, *reads))}
        return {**mounts, **INIT_MOUNTS, START: start}

    def _etc(self, uid: int) -> str:
        folder = self.folder / "etc"
        with self._lock:
            if not folder.exists():
                write_etc(folder, uid, _HOME_PATH)
        return str(folder)

    def start_program(
        self, client: ContainerClient, launch: Launch, home_files: Mapping[str, bytes], limits: Limits
    ) -> SupervisedProcess:
        """Start a program in a container."""
        path = visible_path(launch.path or self._path, paths_to_bind(launch.reads))
        env = {**self.program_environment(path, _HOME_PATH, TEMP_PATH), **launch.env}
        check_words(launch.argv)
        check_environment(env)
        message = encode({"argv": list(launch.argv), "env": env, "home": dict(home_files)})
        return SupervisedProcess(client, message, argv=launch.argv, limits=limits)

    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a temporary copy of a workspace; for checks, called from a worker thread."""
        with self._runtime.temporary_workspace(tree, unused_uid()) as folder:
            client = self.start_container(f"{folder}/{WORKSPACE}", (), "none")
            try:
                return command_result(self.start_program(client, Launch(argv=argv), {}, command_limits(timeout)))
            finally:
                client.close()


class ContainerSession(LevelSession):
    """One attempt's container, and the programs run in it."""

    workspace = Path(f"{DISK}/{MERGED}")
    home = Path(_HOME_PATH)

    def __init__(self, sandbox: ContainerSandbox, start: str, before: Tree, network: Network) -> None:
        self._sandbox = sandbox
        self._template = start
        self._before = before
        self._network = network
        self._client: ContainerClient | None = None
        self._reads: tuple[str, ...] = ()
        self._home_files: dict[str, bytes] = {}

    @property
    def address(self) -> tuple[str, int] | None:
        """The address of `listener`, which is known before the container is started."""
        return ("127.0.0.1", PORT) if self._network == "gateway" else None

    @property
    def listener(self) -> socket.socket | None:
        """The socket that listens in the container's network."""
        return self._client.listener if self._client else None

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this session."""
        return {"network": self._network, "disk": "copy"}

    def write_home_files(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files to HOME, before the first program runs."""
        check_home_files(files)
        self._home_files.update(files)

    async def prepare(self, launches: Sequence[Launch]) -> None:
        """Start the container; its mounts can't be changed afterwards."""
        self._reads = paths_to_bind(path for launch in launches for path in launch.reads)
        try:
            await in_thread(self._start_container)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the container can't be set up: {error}") from error

    def _start_container(self) -> None:
        """Runs in the thread, so that the client is set, and closed later, even when the caller was cancelled."""
        self._client = self._sandbox.start_container(self._template, self._reads, self._network)

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns or raises, every process it started is gone."""
        if self._client is None:
            await self.prepare((launch,))
        return await super().run(launch, limits=limits, last_activity=last_activity)

    def _start(self, launch: Launch, limits: Limits) -> SupervisedProcess:
        if not set(paths_to_bind(launch.reads)) <= set(self._reads) or self._client is None:
            raise WorldError(VoidCause.SANDBOX, "all programs of an attempt must read the same paths of the host")
        files, self._home_files = self._home_files, {}
        return self._sandbox.start_program(self._client, launch, files, limits)

    def collect_files(self, paths: tuple[str, ...]) -> dict[str, bytes]:
        """The files that the agent left in HOME; links are not followed."""
        if self._client is None or self._client.disk is None:
            return {}
        return read_home_files(Path(f"/proc/self/fd/{self._client.disk}", HOME), paths)

    async def look(self) -> Tree:
        """Nothing: the workspace can be read only after the container was removed."""
        return Tree(gaps=("the workspace of a container can't be read while it runs",))

    async def snapshot(self, *, home: bool = False) -> Tree:
        """The content of the workspace, or of HOME, after the container was removed."""
        client = self._client
        if client is None or client.disk is None:
            return Tree() if home else self._before
        await in_thread(client.end)
        if home:
            return await in_thread(partial(scan, Path(f"/proc/self/fd/{client.disk}", HOME)))
        disk = Path(f"/proc/self/fd/{client.disk}", MERGED)
        return await in_thread(partial(scan, disk, known=Known(entries=self._before.entries), spool=self.spool))

    def close(self) -> None:
        """Remove the container; for a worker thread."""
        if self._client is not None:
            self._client.close()
