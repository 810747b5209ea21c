"""`--sandbox bubblewrap`: agents see an allow-list of the host, one socket, and nothing of other attempts.

docs/sandboxes.md says what this level guarantees, and what not.
"""

from __future__ import annotations

import os
import shutil
import socket
import sys
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from demeanor.core.trees.overlay import Layer
from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_io import Known, TooMany, scan
from demeanor.core.values.errors import WorldError
from demeanor.core.values.ports import CommandResult, Template
from demeanor.core.values.process import Launch, Limits
from demeanor.core.values.sandbox_spec import Ceilings, Network
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import WORKSPACE
from demeanor.sandboxes.host.bwrap_args import (
    HOME_PATH,
    PORT,
    TEMP_PATH,
    WORKSPACE_PATH,
    bwrap_arguments,
    paths_to_bind,
    visible_path,
    write_etc,
)
from demeanor.sandboxes.host.bwrap_client import BwrapClient, BwrapSpec
from demeanor.sandboxes.host.copytree import SMALL
from demeanor.sandboxes.host.level import (
    LevelSession,
    SandboxLevel,
    check_home_files,
    command_limits,
    command_result,
    read_home_files,
    seccomp_filter,
)
from demeanor.sandboxes.host.messages import check_words, encode
from demeanor.sandboxes.host.process import SupervisedProcess
from demeanor.sandboxes.host.runtime import SandboxRuntime, in_thread
from demeanor.sandboxes.host.uids import unused_uid
from demeanor.sandboxes.supervisor.bwrap_supervisor import FILTER_FD, STATUS_FD
from demeanor.sandboxes.supervisor.namespaces import HOME, MERGED, UPPER


class BubblewrapSandbox(SandboxLevel):
    """Each attempt runs in its own namespaces."""

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
        ceilings = ceilings or Ceilings()
        runtime = SandboxRuntime(root, memory=ceilings.memory + ceilings.disk)
        super().__init__(runtime, path=path, pass_env=pass_env, ceilings=ceilings, network=network)
        self._overlay = overlay
        self._found_bwrap: tuple[str, bytes] | None = None
        self._etc_folder: Path | None = None
        self._etc_lock = threading.Lock()

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this level."""
        limits, cgroups = self._ceilings, self._runtime.cgroup_parent
        return {
            "sandbox": self.name,
            "ends": "pid namespace",
            "network": self._network,
            "limit.wall": "hard",
            "limit.idle": "hard",
            "limit.processes": f"hard {limits.processes}",
            "limit.disk": f"hard {limits.disk}",
            "limit.files": f"hard {limits.files}",
            "limit.memory": f"soft {limits.memory} (polling), hard {cgroups.memory} with the disk (control group)"
            if cgroups
            else self._runtime.process_memory_fact(limits),
            "limit.output": "hard",
            **self.probe_facts,
        }

    @asynccontextmanager
    async def open_session(
        self, template: Template, *, network: Network | None = None
    ) -> AsyncIterator[BubblewrapSession]:
        """A new session whose workspace starts as the template."""
        lower = await self._runtime.readable_template(template.folder)
        client = BwrapClient(self._runtime.launcher(), self._spec(lower, network or self._network))
        try:
            await client.wait_ready()
            session = BubblewrapSession(client, self, template.tree, network or self._network)
            session.spool = Path(self._runtime.unused_path())
            yield session
        finally:
            client.close()

    def _spec(self, lower: str, network: Network) -> BwrapSpec:
        limits = self._ceilings
        self._found_bwrap = self._found_bwrap or find_bwrap()
        bwrap, rules = self._found_bwrap
        return BwrapSpec(
            bwrap=bwrap,
            filter=rules,
            lower=lower,
            network=network,
            port=PORT,
            uid=unused_uid(),
            owner=(os.getuid(), os.getgid()),
            disk=limits.disk,
            inodes=limits.files,
            memory=limits.memory,
            rlimits={"RLIMIT_NPROC": limits.processes, "RLIMIT_CORE": 0, **self._runtime.memory_rlimits(limits)},
            mark=str(self._runtime.launcher().folder),
            overlay=self._overlay,
        )

    def start_program(
        self,
        client: BwrapClient,
        launch: Launch,
        home_files: Mapping[str, bytes],
        limits: Limits,
        *,
        host_network: bool = False,
    ) -> SupervisedProcess:
        """Start a program in a sandbox."""
        shown = paths_to_bind(launch.reads)
        env = {
            **self.program_environment(visible_path(launch.path or self._path, shown), HOME_PATH, TEMP_PATH),
            **launch.env,
        }
        arguments = bwrap_arguments(env=env, shown=shown, fds=(FILTER_FD, STATUS_FD), host_network=host_network)
        check_words((*launch.argv, *arguments))
        message = encode(
            {
                "argv": list(launch.argv),
                "arguments": arguments,
                "reads": [self._etc(), *shown],
                "home": dict(home_files),
            }
        )
        return SupervisedProcess(client, message, argv=launch.argv, limits=limits)

    def _etc(self) -> str:
        with self._etc_lock:  # checks run commands in their own threads
            if self._etc_folder is None or self._etc_folder.parent != self.folder:
                write_etc(self.folder / "etc")
                self._etc_folder = self.folder / "etc"
        return str(self._etc_folder)

    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a temporary copy of a workspace; for checks, called from a worker thread."""
        with self._runtime.temporary_workspace(tree, unused_uid()) as folder:
            client = BwrapClient(self._runtime.launcher(), self._spec(f"{folder}/{WORKSPACE}", "none"))
            try:
                client.wait_ready_blocking()
                return command_result(self.start_program(client, Launch(argv=argv), {}, command_limits(timeout)))
            finally:
                client.close()


class BubblewrapSession(LevelSession):
    """One attempt's namespaces, and the programs run in them."""

    workspace = Path(WORKSPACE_PATH)
    home = Path(HOME_PATH)

    def __init__(self, client: BwrapClient, sandbox: BubblewrapSandbox, before: Tree, network: Network) -> None:
        self._client = client
        self._sandbox = sandbox
        self._before = before
        self._network = network
        self._home_files: dict[str, bytes] = {}

    @property
    def listener(self) -> socket.socket | None:
        """The socket that listens in the sandbox's network namespace."""
        return self._client.listener

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this session."""
        return {"network": self._network, "disk": "overlay" if self._client.overlay else "copy"}

    def write_home_files(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files to HOME, before the first program runs."""
        check_home_files(files)
        self._home_files.update(files)

    def _start(self, launch: Launch, limits: Limits) -> SupervisedProcess:
        files, self._home_files = self._home_files, {}
        return self._sandbox.start_program(self._client, launch, files, limits, host_network=self._network == "host")

    def collect_files(self, paths: tuple[str, ...]) -> dict[str, bytes]:
        """The files that the agent left in HOME; links are not followed."""
        if self._client.disk is None:
            return {}
        home = os.open(HOME, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=self._client.disk)
        try:
            return read_home_files(home, paths)
        finally:
            os.close(home)

    async def snapshot(self, *, home: bool = False) -> Tree:
        """The content of the workspace, or of HOME, now."""
        client, before = self._client, self._before
        if client.disk is None:
            return Tree() if home else before
        if home:
            return await in_thread(partial(scan, Path(f"/proc/self/fd/{client.disk}", HOME)))
        scan_disk = partial(
            scan,
            Path(f"/proc/self/fd/{client.disk}", UPPER if client.overlay else MERGED),
            known=Known(entries=before.entries),
            spool=self.spool,
        )
        try:
            return scan_disk(layer=Layer(before.entries) if client.overlay else None, at_most=SMALL)
        except TooMany:
            return await in_thread(partial(scan_disk, layer=Layer(before.entries) if client.overlay else None))


def find_bwrap() -> tuple[str, bytes]:
    """The path of bubblewrap and the seccomp filter for this machine; raises WorldError when one is missing."""
    if sys.platform != "linux":
        raise WorldError(VoidCause.SANDBOX, f"bubblewrap needs Linux; this is {sys.platform}")
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise WorldError(VoidCause.SANDBOX, "bwrap is not on PATH")
    return bwrap, seccomp_filter()
