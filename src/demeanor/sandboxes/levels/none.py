"""`--sandbox none`: new folders, a clean environment, and every process is killed at the end; no other isolation.

docs/sandboxes.md says what this level guarantees, and what not.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_io import Known, TooMany, scan
from demeanor.core.values.errors import WorldError
from demeanor.core.values.ports import CommandResult, Template
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.core.values.sandbox_spec import Network
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import HOME, TEMP, WORKSPACE, AttemptDir
from demeanor.sandboxes.host.copytree import SMALL, TemplateCopy, read_template, remove
from demeanor.sandboxes.host.disk_space import require_space_after, space_before
from demeanor.sandboxes.host.level import (
    LevelSession,
    SandboxLevel,
    check_home_files,
    command_limits,
    command_result,
    read_home_files,
)
from demeanor.sandboxes.host.messages import check_environment, check_words, encode
from demeanor.sandboxes.host.process import ProcessStarter, SupervisedProcess
from demeanor.sandboxes.host.runtime import SandboxRuntime, in_thread
from demeanor.sandboxes.supervisor.home_files import write_home_files
from demeanor.sandboxes.supervisor.process_tree import HAS_SUBREAPERS

_MAX_IDLE_DIRS = 64


class NoneSandbox(SandboxLevel):
    """Agents run as ordinary processes of this user, each attempt in its own folders."""

    name = "none"

    def __init__(self, root: Path | None = None, pass_env: Sequence[str] = (), path: str | None = None) -> None:
        super().__init__(SandboxRuntime(root), path=path, pass_env=pass_env, network="host")
        self._templates: dict[Path, TemplateCopy] = {}
        self._idle: dict[str, list[AttemptDir]] = {}

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this level."""
        unsupported = dict.fromkeys(("processes", "disk", "files", "memory"), "unsupported")
        limits = {"wall": "hard", "idle": "hard", **unsupported, "output": "hard"}
        return {
            "sandbox": self.name,
            "ends": "process tree" if HAS_SUBREAPERS else "process group",
            "network": self._network,
            **{f"limit.{name}": how for name, how in limits.items()},
        }

    async def stop(self) -> None:
        """Remove the folder, and stop the fork server."""
        self._idle.clear()
        await super().stop()

    @asynccontextmanager
    async def open_session(self, template: Template, *, network: Network | None = None) -> AsyncIterator[NoneSession]:
        """A new session whose workspace is a copy of the template. Its network is the host's, also for other values."""
        copy = self._templates.get(template.folder)
        if copy is None:
            copy = self._templates[template.folder] = await asyncio.to_thread(read_template, template.folder)
        attempt_dir = await self._take_dir(copy, self._runtime.new_path())
        env = self._environment(attempt_dir.path)
        session = NoneSession(attempt_dir, self._runtime.launcher(), env, template.tree)
        session.spool = Path(self._runtime.unused_path())
        clean = False
        try:
            yield session
            clean = session.clean
        finally:
            await self._release_dir(attempt_dir, copy, clean)

    async def _take_dir(self, template: TemplateCopy, path: str) -> AttemptDir:
        if idle := self._idle.get(template.folder):
            with contextlib.suppress(OSError):  # it was removed from outside
                return idle.pop().rename(path)
        attempt_dir = AttemptDir(path, template)
        try:
            if template.small:
                attempt_dir.create()
            else:
                await in_thread(attempt_dir.create)
        except BaseException as error:
            await in_thread(remove, path)
            if isinstance(error, OSError):
                raise WorldError(VoidCause.SANDBOX, f"can't create the workspace: {error}") from error
            raise
        return attempt_dir

    async def _release_dir(self, attempt_dir: AttemptDir, template: TemplateCopy, clean: bool) -> None:
        idle = sum(map(len, self._idle.values()))
        if clean and template.small and idle < _MAX_IDLE_DIRS and attempt_dir.reset():
            self._idle.setdefault(template.folder, []).append(attempt_dir)
        elif not remove(attempt_dir.path, limit=SMALL):
            await in_thread(remove, attempt_dir.path)

    def _environment(self, folder: str) -> dict[str, str]:
        return self.program_environment(self._path, f"{folder}/{HOME}", f"{folder}/{TEMP}")

    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a temporary copy of a workspace; for checks, called from a worker thread."""
        launcher = self._runtime.launcher()
        with self._runtime.temporary_workspace(tree) as folder:
            message = encode_plain_launch(f"{folder}/{WORKSPACE}", argv, self._environment(folder))
            program = SupervisedProcess(launcher, message, argv=argv, limits=command_limits(timeout))
            return command_result(program)


def encode_plain_launch(cwd: str, argv: tuple[str, ...], env: Mapping[str, str]) -> bytes:
    """A launch for the plain supervisor; raises WorldError for what can't be an argument or a variable."""
    check_words(argv)
    check_environment(env)
    return encode({"cwd": cwd, "argv": list(argv), "env": dict(env)})


class NoneSession(LevelSession):
    """One attempt's folders, and the programs run in them."""

    def __init__(self, attempt_dir: AttemptDir, starter: ProcessStarter, env: Mapping[str, str], before: Tree) -> None:
        self.workspace = Path(attempt_dir.path, WORKSPACE)
        self.home = Path(attempt_dir.path, HOME)
        self.clean = True
        """Whether every program exited by itself and left nothing running."""
        self._attempt_dir = attempt_dir
        self._starter = starter
        self._env = env
        self._before = before

    @property
    def listener(self) -> socket.socket | None:
        """None: programs connect to the gateway's own address."""
        return None

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record says about this session, besides the facts of its level."""
        return {}

    def write_home_files(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files to HOME, before the first program runs."""
        check_home_files(files)
        write_home_files(files, str(self.home))

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns or raises, every process it started is gone. Raises WorldError
        if something else has filled the disk meanwhile.
        """
        folder = Path(self._attempt_dir.path)
        free = space_before(folder)
        clean, self.clean = self.clean, False
        end = await super().run(launch, limits=limits, last_activity=last_activity)
        require_space_after(folder, free)
        self.clean = clean and end.ended_by == "exit" and not end.leftovers
        return end

    def _start(self, launch: Launch, limits: Limits) -> SupervisedProcess:
        path = {"PATH": launch.path} if launch.path else {}
        message = encode_plain_launch(str(self.workspace), launch.argv, {**self._env, **path, **launch.env})
        return SupervisedProcess(self._starter, message, argv=launch.argv, limits=limits)

    def collect_files(self, paths: tuple[str, ...]) -> dict[str, bytes]:
        """The files that the agent left in HOME; links are not followed."""
        return read_home_files(self.home, paths)

    async def snapshot(self, *, home: bool = False) -> Tree:
        """The content of the workspace, or of HOME, now."""
        attempt_dir = self._attempt_dir
        if not attempt_dir.exists():
            return Tree(gaps=("the folder of the attempt was moved away",))
        if home:
            return await in_thread(partial(scan, self.home))
        known = Known(
            entries=self._before.entries, stamps=attempt_dir.stamps, settled_before=attempt_dir.settled_before
        )
        try:
            return scan(self.workspace, known=known, at_most=SMALL, spool=self.spool)
        except TooMany:
            return await in_thread(partial(scan, self.workspace, known=known, spool=self.spool))
