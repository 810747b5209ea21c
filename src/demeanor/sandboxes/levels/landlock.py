"""`--sandbox landlock`: agents read an allow-list, write to their own folders, and connect to their gateway's port.

For machines where user namespaces can't be created. It isolates less than bubblewrap:
docs/sandboxes.md says what. Where namespaces can be created, each program has its own pid namespace.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from demeanor.core.trees.tree import Tree
from demeanor.core.values.errors import WorldError
from demeanor.core.values.ports import CommandResult, Template
from demeanor.core.values.process import Launch, Limits
from demeanor.core.values.sandbox_spec import Ceilings, Network
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import HOME, TEMP, WORKSPACE, AttemptDir
from demeanor.sandboxes.host.bwrap_args import HOST_ETC, SYSTEM_PATHS, paths_to_bind, visible_path
from demeanor.sandboxes.host.copytree import SMALL, TemplateCopy, read_template, remove
from demeanor.sandboxes.host.level import SandboxLevel, command_limits, command_result, seccomp_filter
from demeanor.sandboxes.host.messages import SupervisorClient, check_environment, check_words, encode
from demeanor.sandboxes.host.process import SupervisedProcess
from demeanor.sandboxes.host.runtime import SandboxRuntime, in_thread
from demeanor.sandboxes.host.uids import attempt_uid, chown_tree, unused_uid
from demeanor.sandboxes.levels.none import NoneSession
from demeanor.sandboxes.supervisor import landlock_abi
from demeanor.sandboxes.supervisor.landlock_supervisor import NAMESPACE, NO_NAMESPACE

_ETC = (*HOST_ETC, "passwd", "group", "hosts", "nsswitch.conf")
"""The readable part of /etc; it includes the host's users."""

_DEVICES = ("null", "zero", "full", "random", "urandom")


@dataclass(frozen=True, kw_only=True, slots=True)
class LandlockSpec:
    """What the programs of one attempt may use."""

    folder: str
    """The folder that contains the attempt's workspace, HOME and temp folder."""

    uid: int
    """The user of its programs."""

    listener: socket.socket | None
    """The socket that they may connect to."""

    network: Network
    """What they may connect to at all."""

    filter: bytes
    """The seccomp filter."""

    @property
    def port(self) -> int | None:
        """The port of the listener."""
        return int(self.listener.getsockname()[1]) if self.listener is not None else None


class LandlockClient(SupervisorClient):
    """The client of one attempt's supervisor."""

    def __init__(self, control: socket.socket) -> None:
        super().__init__(control)
        self.namespace: bool | None = None
        """Whether its programs have their own pid namespace; None before the first one starts."""

    def receive(self, control: socket.socket) -> bytes | None:
        """Receive from the supervisor. Its message about the namespace comes first, and gives None."""
        data = super().receive(control)
        for line in (NAMESPACE, NO_NAMESPACE):
            if data and data.startswith(line):
                self.namespace = line == NAMESPACE
                return data.removeprefix(line) or None
        return data


class LandlockSandbox(SandboxLevel):
    """Each attempt runs restricted by landlock, as its own user when Demeanor is root."""

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
        ceilings = ceilings or Ceilings()
        mode = 0o711 if os.getuid() == 0 else 0o700  # the attempt's own user must be able to enter its folder
        runtime = SandboxRuntime(root, mode, memory=ceilings.memory)
        super().__init__(runtime, path=path, pass_env=pass_env, ceilings=ceilings, network=network)
        self._templates: dict[Path, TemplateCopy] = {}
        self._namespace = False

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this level, and about what it leaves open."""
        limits = self._ceilings
        version = landlock_abi.version()
        return {
            "sandbox": self.name,
            "network": self._network,
            "landlock": f"version {version}",
            "open.address": "any, at the port of the gateway",
            **self.process_facts(namespace=self._namespace),
            "open.permissions": "none" if os.getuid() == 0 else "of this user's files everywhere",
            "open.tmp": "shared, and out of reach: TMPDIR is its own",
            "limit.wall": "hard",
            "limit.idle": "hard",
            "limit.disk": "unsupported",
            "limit.file_size": f"hard {limits.disk}",
            "limit.files": "unsupported",
            "limit.memory": f"hard {limits.memory} (control group)"
            if self._runtime.cgroup_parent
            else self._runtime.process_memory_fact(limits),
            "limit.output": "hard",
            **self.probe_facts,
        }

    def process_facts(self, *, namespace: bool) -> dict[str, str]:
        """What depends on whether programs have their own pid namespace. An ordinary user's is in a user namespace,
        where the kernel counts processes anew."""
        own_count = namespace or unused_uid() not in {None, attempt_uid()}
        seen = "seen" if landlock_abi.version() >= landlock_abi.SIGNALS_VERSION else "seen and signalled"
        return {
            "ends": "pid namespace" if namespace else "process tree",
            "open.processes": "its own, and the init of their namespace" if namespace else seen,
            "limit.processes": f"{'hard' if own_count else 'soft'} {self._ceilings.processes}",
        }

    def verify(self) -> None:
        """Run a program in the sandbox; raises WorldError when that does not work."""
        hint = " (other users must be able to enter the temp folder)" if os.getuid() == 0 else ""
        self._verify('cd "$HOME" && echo works > "$TMPDIR/x" && cat "$TMPDIR/x"', hint)

    @asynccontextmanager
    async def open_session(
        self, template: Template, *, network: Network | None = None
    ) -> AsyncIterator[LandlockSession]:
        """A new session whose workspace is a copy of the template."""
        network = network or self._network
        rules = _checked_filter(network)
        copy = self._templates.get(template.folder)
        if copy is None:
            copy = self._templates[template.folder] = await in_thread(read_template, template.folder)
        attempt_dir = AttemptDir(self._runtime.new_path(), copy)
        uid = attempt_uid()
        client: LandlockClient | None = None
        listener: socket.socket | None = None
        try:
            try:
                await in_thread(_create, attempt_dir, uid)
                if network == "gateway":
                    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
            except OSError as error:
                raise WorldError(VoidCause.SANDBOX, f"can't create the workspace: {error}") from error
            client = LandlockClient(self._runtime.launcher().landlock_supervisor())
            spec = LandlockSpec(folder=attempt_dir.path, uid=uid, listener=listener, network=network, filter=rules)
            session = LandlockSession(attempt_dir, self, client, spec, template.tree)
            session.spool = Path(self._runtime.unused_path())
            yield session
        finally:
            if client is not None:
                client.close()
            if listener is not None:
                with contextlib.suppress(OSError):  # the gateway may have closed it
                    listener.close()
            if not remove(attempt_dir.path, limit=SMALL):
                await in_thread(remove, attempt_dir.path)

    def start_program(
        self, client: SupervisorClient, spec: LandlockSpec, launch: Launch, limits: Limits
    ) -> SupervisedProcess:
        """Start a program."""
        shown = paths_to_bind(launch.reads)
        if spec.uid != os.getuid():
            check_readable(shown)
        folder, ceilings = spec.folder, self._ceilings
        path = visible_path(launch.path or self._path, shown)
        env = {**self.program_environment(path, f"{folder}/{HOME}", f"{folder}/{TEMP}"), **launch.env}
        check_words(launch.argv)
        check_environment(env)
        ports: list[int] | None = [spec.port] if spec.port else []
        if spec.network == "host":
            ports = None
        message = encode(
            {
                "argv": list(launch.argv),
                "env": env,
                "cwd": f"{folder}/{WORKSPACE}",
                "uid": spec.uid,
                "reads": [*readable_paths(host_network=spec.network == "host"), *shown],
                "lists": [path for path in launch.lists if Path(path).is_dir()],
                "devices": list(devices()),
                "writes": [f"{folder}/{name}" for name in (WORKSPACE, HOME, TEMP)],
                "ports": ports,
                "filter": spec.filter,
                "processes": ceilings.processes,
                "memory": ceilings.memory,
                "rlimits": {
                    "RLIMIT_CORE": 0,
                    "RLIMIT_FSIZE": ceilings.disk,
                    **self._runtime.memory_rlimits(ceilings),
                },
            }
        )
        return SupervisedProcess(client, message, argv=launch.argv, limits=limits)

    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a temporary copy of a workspace; for checks, called from a worker thread."""
        rules, uid = _checked_filter("none"), attempt_uid()
        with self._runtime.temporary_workspace(tree, uid if os.getuid() == 0 else None) as folder:
            client = LandlockClient(self._runtime.launcher().landlock_supervisor())
            try:
                spec = LandlockSpec(folder=folder, uid=uid, listener=None, network="none", filter=rules)
                return command_result(self.start_program(client, spec, Launch(argv=argv), command_limits(timeout)))
            finally:
                self._namespace = bool(client.namespace)
                client.close()


class LandlockSession(NoneSession):
    """One attempt's folders, and the programs run in them, restricted by landlock."""

    def __init__(
        self,
        attempt_dir: AttemptDir,
        sandbox: LandlockSandbox,
        client: LandlockClient,
        spec: LandlockSpec,
        before: Tree,
    ) -> None:
        super().__init__(attempt_dir, client, {}, before)
        self._sandbox = sandbox
        self._client = client
        self._spec = spec

    @property
    def listener(self) -> socket.socket | None:
        """A socket at its own port, the only one that this session's programs can connect to."""
        return self._spec.listener

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this session."""
        namespace = self._client.namespace
        processes = {} if namespace is None else self._sandbox.process_facts(namespace=namespace)
        return {"network": self._spec.network, "disk": "copy", **processes}

    def write_home_files(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files to HOME, before the first program runs."""
        super().write_home_files(files)
        if os.getuid() == 0:
            chown_tree(str(self.home), self._spec.uid)

    def _start(self, launch: Launch, limits: Limits) -> SupervisedProcess:
        return self._sandbox.start_program(self._client, self._spec, launch, limits)


def _create(attempt_dir: AttemptDir, uid: int) -> None:
    attempt_dir.create()
    if os.getuid() == 0:
        chown_tree(attempt_dir.path, uid)


@cache
def readable_paths(*, host_network: bool) -> tuple[str, ...]:
    """The paths that every program may read, if they exist: those that bubblewrap mounts, and more of /etc."""
    etc = (*_ETC, *(("resolv.conf",) if host_network else ()))
    return _existing((*SYSTEM_PATHS, *(f"/etc/{name}" for name in etc), "/proc"))


@cache
def devices() -> tuple[str, ...]:
    """The devices that every program may read and write, if they exist."""
    return _existing(f"/dev/{name}" for name in _DEVICES)


def _existing(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if Path(path).exists())


def check_readable(paths: tuple[str, ...]) -> None:
    """Raise WorldError for an installation that the attempt's user can't reach."""
    for path in paths:
        for folder in Path(path).parents:
            if not folder.stat().st_mode & 0o001:
                why = (
                    f"Demeanor runs as root and agents as another user, who can't enter {folder}, which contains {path}"
                )
                raise WorldError(VoidCause.MISSING, f"{why}; install it elsewhere, or use --sandbox bubblewrap")


def _checked_filter(network: Network) -> bytes:
    """The seccomp filter for this machine; raises WorldError when landlock or the filter is missing."""
    if sys.platform != "linux":
        raise WorldError(VoidCause.SANDBOX, f"landlock needs Linux; this is {sys.platform}")
    problem = landlock_abi.unsupported_reason(landlock_abi.version())
    if problem:
        raise WorldError(VoidCause.SANDBOX, problem)
    return seccomp_filter(network)
