"""What a run needs of the host: a folder that is always removed, the fork server, and control groups."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

from demeanor.core.trees.temp_names import owner_is_dead, temp_prefix
from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_restore import restore
from demeanor.core.values.errors import WorldError
from demeanor.core.values.sandbox_spec import Ceilings
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import HOME, TEMP, WORKSPACE
from demeanor.sandboxes.host.copytree import remove
from demeanor.sandboxes.host.disk_space import require_space
from demeanor.sandboxes.host.launcher import Launcher
from demeanor.sandboxes.host.uids import chown_tree, unused_uid
from demeanor.sandboxes.supervisor.cgroup import CgroupParent, find_parent
from demeanor.sandboxes.supervisor.run_folder import all_pids, kill_processes, read_proc

T = TypeVar("T")


async def in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call `function` in a thread. Even when cancelled, this does not return before the call has ended."""
    call = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        while not call.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([call])
        raise


class SandboxRuntime:
    """The folder of a run's attempts and its fork server, created when they are first needed."""

    def __init__(self, root: Path | None = None, mode: int = 0o700, memory: int | None = None) -> None:
        """`memory` is the limit of each attempt's control group; None for no control groups."""
        self._root = root
        self._mode = mode
        self._memory = memory
        self._lock = threading.Lock()
        self._launcher: Launcher | None = None
        self._numbers = itertools.count(1)
        self._chowned: dict[Path, str] = {}

    def launcher(self) -> Launcher:
        """The launcher; raises WorldError when it can't be started."""
        with self._lock:
            if self._launcher is None:
                self._launcher = self._new_launcher()
            return self._launcher

    def _new_launcher(self) -> Launcher:
        """A launcher with its own folder. The fork server, which removes the folder, is started before that is made."""
        root = Path(self._root or tempfile.gettempdir()).absolute()
        remove_stale_runs(root)
        launcher = Launcher(root / f"{temp_prefix()}{os.urandom(6).hex()}", self.cgroup_parent)
        launcher.start()
        try:
            launcher.folder.mkdir(mode=0o700)
            launcher.folder.chmod(self._mode)
        except OSError as error:
            launcher.stop()
            raise WorldError(VoidCause.SANDBOX, f"can't create a folder for sandboxes: {error}") from None
        return launcher

    @property
    def cgroup_parent(self) -> CgroupParent | None:
        """Where the control groups of attempts are created; None where they can't be."""
        return None if self._memory is None else _working_cgroup_parent(self._memory)

    def memory_rlimits(self, limits: Ceilings) -> dict[str, int]:
        """The limit of each process's memory, where no control group limits all of them together."""
        return {} if self.cgroup_parent else {"RLIMIT_DATA": limits.process_memory}

    def process_memory_fact(self, limits: Ceilings) -> str:
        """The same for a trial's record, with what enforces it."""
        return f"soft {limits.memory} (polling), hard {limits.process_memory} of each process (RLIMIT_DATA)"

    def new_path(self) -> str:
        """The path of a folder that does not exist yet; raises WorldError if the disk is full."""
        require_space(self.launcher().folder)
        return self.unused_path()

    def unused_path(self) -> str:
        """The same, without a look at the disk."""
        return f"{self.launcher().folder}/{next(self._numbers)}"

    async def readable_template(self, folder: Path) -> str:
        """A template that the sandbox's user may read: when we are root, a copy that belongs to the unused uid."""
        copy = self._chowned.get(folder)
        if copy is None:
            copy = self._chowned[folder] = await in_thread(self._chown_template, folder)
        return copy

    def _chown_template(self, folder: Path) -> str:
        uid = unused_uid()
        if uid is None:
            return str(folder)
        if not folder.is_relative_to(self.launcher().folder):
            copied = self.new_path()
            subprocess.run(["cp", "-a", f"{folder}/.", f"{copied}/"], check=True, capture_output=True)
            folder = Path(copied)
        chown_tree(str(folder), uid)
        return str(folder)

    @contextmanager
    def temporary_workspace(self, tree: Tree, uid: int | None = None) -> Iterator[str]:
        """A temporary attempt folder whose workspace has that content; it belongs to `uid` where one is given."""
        folder = self.new_path()
        try:
            for name in ("", HOME, TEMP, WORKSPACE):
                Path(folder, name).mkdir(mode=0o700)
            restore(tree, Path(folder, WORKSPACE))
            if uid is not None:
                chown_tree(folder, uid)
            yield folder
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"can't create a workspace for a command: {error}") from error
        finally:
            remove(folder)

    def close(self) -> None:
        """Remove the folder, and stop the fork server."""
        with self._lock:
            launcher, self._launcher = self._launcher, None
        if launcher:
            try:
                remove(str(launcher.folder))
            finally:
                launcher.stop()


@cache
def _working_cgroup_parent(memory: int) -> CgroupParent | None:
    """Where control groups can be created; None where they can't, or where a process can't be moved into one."""
    parent = find_parent(memory)
    if parent is None:
        return None
    with subprocess.Popen(["/bin/sh", "-c", "read -r never"], stdin=subprocess.PIPE) as process:
        try:
            parent.create(process.pid)
        except OSError:
            works = False
        else:
            works = True
    parent.cgroup(process.pid).remove()
    return parent if works else None


def remove_stale_runs(root: Path) -> None:
    """Kill the processes and remove the folders of earlier runs in `root` that were killed all at once, their Demeanor,
    fork server and supervisors; and other temporary folders of a Demeanor that was killed.

    A run is recognised by its own marks only: its folder, whose name has the process that created it, and processes
    that carry the folder's path in their environment or work in it. A run whose owner or fork server lives is left
    alone, and so is everything of other users.
    """
    if not Path("/proc/self/stat").exists():
        return
    for folder in root.glob("demeanor-*"):
        with contextlib.suppress(OSError):  # another run removes it too
            if owner_is_dead(folder.name) and _is_stale(folder):
                kill_processes(str(folder))
                remove(str(folder))


def _is_stale(folder: Path) -> bool:
    own = not folder.is_symlink() and folder.stat().st_uid == os.getuid()
    return own and not _fork_server_lives(folder)


def _fork_server_lives(folder: Path) -> bool:
    name = os.fsencode(folder)
    return any(name in read_proc(pid, "cmdline").split(b"\0") for pid in all_pids())
