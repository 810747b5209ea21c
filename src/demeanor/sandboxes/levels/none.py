"""`--sandbox none`: a fresh folder, a clean environment and certain death, but no wall around the agent.

What this level promises, and what it does not, is said in docs/sandboxes.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.ports import CommandResult, Template
from demeanor.core.process import Launch, Limits, ProcessEnd
from demeanor.core.sandbox_spec import Network
from demeanor.core.tree import Tree
from demeanor.core.tree_io import Known, TooMany, scan
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.attempt_dir import HOME, TEMP, WORKSPACE, AttemptDir
from demeanor.sandboxes.host.copytree import SMALL, TemplateCopy, read_master, remove
from demeanor.sandboxes.host.launcher import Launcher, pack
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
from demeanor.sandboxes.supervisor.process_tree import WHOLE

_MOST_IDLE = 64


class NoneSandbox:
    """Agents run as ordinary processes of this user, each attempt in folders of its own."""

    name = "none"

    def __init__(self, root: Path | None = None, pass_env: Sequence[str] = (), path: str | None = None) -> None:
        self._base = base_environment(path if path is not None else _host_path(), tuple(pass_env))
        self._runtime = SandboxRuntime(root)
        self._masters: dict[Path, TemplateCopy] = {}
        self._idle: dict[str, list[AttemptDir]] = {}
        self.proof: dict[str, str] = {}
        """What was proven of it: nothing is promised that could be."""

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this level."""
        not_here = dict.fromkeys(("processes", "disk", "files", "memory"), "unsupported")
        limits = {"wall": "hard", "idle": "hard", **not_here, "output": "hard"}
        ends = "process tree" if WHOLE else "process group"
        return {
            "sandbox": self.name,
            "ends": ends,
            "network": "host",
            **{f"limit.{name}": how for name, how in limits.items()},
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
        self._idle.clear()
        await in_thread(self._runtime.leave)

    @asynccontextmanager
    async def bench(self, template: Template, *, network: Network | None = None) -> AsyncIterator[NoneSession]:
        """A fresh bench whose workspace is a copy of the template. Its network is the host's, whatever is asked for."""
        master = self._masters.get(template.folder)
        if master is None:
            master = self._masters[template.folder] = await asyncio.to_thread(read_master, template.folder)
        place = await self._take_place(master, self._runtime.new_path())
        bench = self._bench(place, template, network)
        in_peace = False
        try:
            yield bench
            in_peace = bench.in_peace
        finally:
            bench.close()
            await self._leave_place(place, master, in_peace)

    def _bench(self, place: AttemptDir, template: Template, network: Network | None) -> NoneSession:
        return NoneSession(place, self._runtime.ready(), self.environment(place.path), template.tree)

    def fenced(self, launch: Launch, place: str, network: Network, port: int | None) -> Launch:
        """A launch as it is carried out at this level: as it is."""
        return launch

    async def _take_place(self, master: TemplateCopy, path: str) -> AttemptDir:
        if idle := self._idle.get(master.folder):
            with contextlib.suppress(OSError):  # somebody has removed it
                return idle.pop().moved(path)
        place = AttemptDir(path, master)
        try:
            if master.small:
                place.make()
            else:
                await in_thread(place.make)
        except BaseException as error:
            await in_thread(remove, path)
            if isinstance(error, OSError):
                raise WorldError(VoidCause.SANDBOX, f"the bench can't be set up: {error}") from error
            raise
        return place

    async def _leave_place(self, place: AttemptDir, master: TemplateCopy, in_peace: bool) -> None:
        if in_peace and master.small and sum(map(len, self._idle.values())) < _MOST_IDLE and place.reset():
            self._idle.setdefault(master.folder, []).append(place)
        elif not remove(place.path, at_most=SMALL):
            await in_thread(remove, place.path)

    def environment(self, place: str) -> dict[str, str]:
        """All that a program in `place` gets to know of the host, and where its own folders are."""
        return environment(self._base, f"{place}/{HOME}", f"{place}/{TEMP}")

    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a throw-away copy of a workspace; for checks, called from a worker thread."""
        launcher = self._runtime.ready()
        with self._runtime.laid_out(tree) as place:
            fenced = self.fenced(Launch(argv=argv), place, "none", None)
            message = pack(f"{place}/{WORKSPACE}", fenced.argv, self.environment(place))
            program = SupervisedProcess(launcher, message, name=argv[0] if argv else "", limits=command_limits(timeout))
            return command_result(program)


def _host_path() -> str:
    return os.environ.get("PATH", os.defpath)


class NoneSession:
    """One attempt's folders, and the programs run in them."""

    def __init__(self, place: AttemptDir, launcher: Launcher, env: Mapping[str, str], before: Tree) -> None:
        self.workspace = Path(place.path, WORKSPACE)
        self.home = Path(place.path, HOME)
        self.in_peace = True
        """Whether every program ended by itself and left nothing running."""
        self._place = place
        self._launcher = launcher
        self._env = env
        self._before = before

    @property
    def address(self) -> tuple[str, int] | None:
        """Where programs find whoever serves the listener."""
        return address_of(self.listener)

    @property
    def listener(self) -> socket.socket | None:
        """There is none: the gateway's own address is within reach."""
        return None

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this bench: nothing that its sandbox does not say."""
        return {}

    def write_home_files(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files into HOME, before the first program runs."""
        check_home_files(files)
        for path, content in files.items():
            if "/" in path:
                (self.home / path).parent.mkdir(parents=True, exist_ok=True)
            with open(f"{self.home}/{path}", "wb", buffering=0) as file:  # noqa: PTH123 - once per attempt
                file.write(content)

    async def furnish(self, launches: Sequence[Launch]) -> None:
        """There is nothing to be shown that is not there anyway."""

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns or raises, every process it started is gone."""
        peace, self.in_peace = self.in_peace, False
        env = {**self._env, **launch.env}
        message = pack(str(self.workspace), launch.argv, env)
        program = SupervisedProcess(self._launcher, message, name=launch.argv[0] if launch.argv else "", limits=limits)
        try:
            end = await supervise(program, last_activity)
        finally:
            program.close()
        self.in_peace = peace and end.ended_by == "exit" and not end.leftovers
        return end

    def close(self) -> None:
        """There is nothing to let go of."""

    def leavings(self, paths: tuple[str, ...]) -> dict[str, bytes]:
        """Files that the agent left in its HOME, as far as they are there; links are not followed."""
        return leavings_in(self.home, paths)

    async def snapshot(self) -> Tree:
        """The workspace's content now."""
        place = self._place
        if not place.still_there():
            return Tree(gaps=("the folder of the attempt was moved away",))
        known = Known(entries=self._before.entries, stamps=place.stamps, settled_before=place.settled_before)
        try:
            return scan(self.workspace, known=known, at_most=SMALL)
        except TooMany:
            return await in_thread(partial(scan, self.workspace, known=known))
