"""`--sandbox local`: a fresh folder, a clean environment and certain death, but no wall around the agent.

What this level promises, and what it does not, is said in docs/sandboxes.md.
"""

# pathlib costs more than the system calls that are made here in large numbers.
# ruff: noqa: PTH102

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from holdfast.core.beneath import find_beneath, read_beneath
from holdfast.core.errors import WorldError
from holdfast.core.folder import Known, TooMany, restore, scan, tree_path_problem
from holdfast.core.ports import CommandResult, Template
from holdfast.core.process import Launch, Limits, ProcessEnd
from holdfast.core.verdict import VoidCause
from holdfast.core.workspace import Tree
from holdfast.sandboxes.folder import SMALL, Master, read_master, remove
from holdfast.sandboxes.launcher import Launcher
from holdfast.sandboxes.place import HOME, TEMP, WORKSPACE, Place
from holdfast.sandboxes.running import Program, attend, attend_blocking
from holdfast.sandboxes.tree import WHOLE

T = TypeVar("T")
_COMMAND_OUTPUT = 2**20
_MOST_IDLE = 64
_LEAVING = 32 * 2**20
_LEAVINGS = 100


def _new_launcher(root: Path) -> Launcher:
    """A launcher with a folder of its own. Who removes the folder is there before it is made."""
    launcher = Launcher(root / f"holdfast-{os.urandom(6).hex()}")
    launcher.start()
    try:
        launcher.folder.mkdir(mode=0o700)
    except OSError as error:
        launcher.stop()
        raise WorldError(VoidCause.SANDBOX, f"no folder for benches can be made: {error}") from None
    return launcher


async def _in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Call `function` in a thread. Even where this is cancelled, it is not left before the call has ended."""
    call = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(call)
    except asyncio.CancelledError:
        while not call.done():
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait([call])
        raise


class LocalSandbox:
    """Agents run as ordinary processes of this user, each attempt in folders of its own."""

    name = "local"

    def __init__(self, root: Path | None = None, pass_env: Sequence[str] = (), path: str | None = None) -> None:
        self._root = root
        self._base = {
            "PATH": path if path is not None else os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "USER": "agent",
            **{name: os.environ[name] for name in pass_env if name in os.environ},
        }
        self._lock = threading.Lock()
        self._launcher: Launcher | None = None
        self._masters: dict[Path, Master] = {}
        self._idle: dict[str, list[Place]] = {}
        self._numbers = itertools.count(1)

    @property
    def facts(self) -> Mapping[str, str]:
        """What a trial's record should say of this level."""
        return {"sandbox": self.name, "ends": "process tree" if WHOLE else "process group"}

    @property
    def folder(self) -> Path:
        """Everything lies in here; it is removed at the end, also when Holdfast itself is killed."""
        return self._ready().folder

    async def start(self) -> None:
        """Make ready; raises WorldError where that is not possible."""
        self._ready()

    def _ready(self) -> Launcher:
        with self._lock:
            if self._launcher is None:
                self._launcher = _new_launcher(Path(self._root or tempfile.gettempdir()).absolute())
            return self._launcher

    async def stop(self) -> None:
        """Take everything down."""
        await _in_thread(self._stop)

    def _stop(self) -> None:
        with self._lock:
            launcher, self._launcher = self._launcher, None
        self._idle.clear()
        if launcher:
            try:
                remove(str(launcher.folder))
            finally:
                launcher.stop()

    @asynccontextmanager
    async def bench(self, template: Template) -> AsyncIterator[LocalBench]:
        """A fresh bench whose workspace is a copy of the template."""
        launcher = self._ready()
        master = self._masters.get(template.folder)
        if master is None:
            master = self._masters[template.folder] = await asyncio.to_thread(read_master, template.folder)
        place = await self._take_place(master, self._new_path(launcher))
        bench = LocalBench(place, launcher, self.environment(place.path), template.tree)
        in_peace = False
        try:
            yield bench
            in_peace = bench.in_peace
        finally:
            await self._leave_place(place, master, in_peace)

    async def _take_place(self, master: Master, path: str) -> Place:
        if idle := self._idle.get(master.folder):
            with contextlib.suppress(OSError):  # somebody has removed it
                return idle.pop().moved(path)
        place = Place(path, master)
        try:
            if master.small:
                place.make()
            else:
                await _in_thread(place.make)
        except BaseException as error:
            await _in_thread(remove, path)
            if isinstance(error, OSError):
                raise WorldError(VoidCause.SANDBOX, f"the bench can't be set up: {error}") from error
            raise
        return place

    async def _leave_place(self, place: Place, master: Master, in_peace: bool) -> None:
        if in_peace and master.small and sum(map(len, self._idle.values())) < _MOST_IDLE and place.reset():
            self._idle.setdefault(master.folder, []).append(place)
        elif not remove(place.path, at_most=SMALL):
            await _in_thread(remove, place.path)

    def _new_path(self, launcher: Launcher) -> str:
        return f"{launcher.folder}/{next(self._numbers)}"

    def environment(self, place: str) -> dict[str, str]:
        """All that a program in `place` gets to know of the host, and where its own folders are."""
        home, temp = f"{place}/{HOME}", f"{place}/{TEMP}"
        return {
            **self._base,
            "HOME": home,
            "TMPDIR": temp,
            "TMUX_TMPDIR": temp,
            "XDG_CONFIG_HOME": f"{home}/.config",
            "XDG_CACHE_HOME": f"{home}/.cache",
            "XDG_DATA_HOME": f"{home}/.local/share",
            "XDG_STATE_HOME": f"{home}/.local/state",
        }

    def command(self, tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
        """Run a command in a throw-away copy of a workspace; for checks, called from a worker thread."""
        launcher = self._ready()
        place = self._new_path(launcher)
        limits = Limits(wall=timeout, grace=0.0, output_bytes=_COMMAND_OUTPUT)
        try:
            for folder in ("", HOME, TEMP, WORKSPACE):
                os.mkdir(f"{place}/{folder}", 0o700)
            restore(tree, Path(place, WORKSPACE))
            program = Program(
                launcher, argv=argv, cwd=f"{place}/{WORKSPACE}", env=self.environment(place), limits=limits
            )
            try:
                end = attend_blocking(program)
            finally:
                program.close()
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the workspace can't be laid out for a command: {error}") from error
        finally:
            remove(place)
        return CommandResult(
            exit_code=end.exit_code if end.exit_code is not None else -(end.signal or 0),
            stdout=end.stdout.text,
            stderr=end.stderr.text,
            timed_out=end.ended_by != "exit",
        )


class LocalBench:
    """One attempt's folders, and the programs run in them."""

    def __init__(self, place: Place, launcher: Launcher, env: Mapping[str, str], before: Tree) -> None:
        self.workspace = Path(place.path, WORKSPACE)
        self.home = Path(place.path, HOME)
        self.in_peace = True
        """Whether every program ended by itself and left nothing running."""
        self._place = place
        self._launcher = launcher
        self._env = env
        self._before = before

    def lay_home(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files into HOME, before the first program runs."""
        for path, content in files.items():
            problem = tree_path_problem(path)
            if problem:
                raise ValueError(f"home file {path!r} {problem}")
            place = self.home / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns or raises, every process it started is gone."""
        peace, self.in_peace = self.in_peace, False
        env = {**self._env, **launch.env}
        program = Program(self._launcher, argv=launch.argv, cwd=str(self.workspace), env=env, limits=limits)
        try:
            end = await attend(program, last_activity)
        finally:
            program.close()
        self.in_peace = peace and end.ended_by == "exit" and not end.leftovers
        return end

    def leavings(self, paths: tuple[str, ...]) -> dict[str, bytes]:
        """Files that the agent left in its HOME, as far as they are there; links are not followed."""
        found = {}
        for pattern in paths:
            for path in find_beneath(self.home, pattern, at_most=_LEAVINGS):
                content = read_beneath(self.home, path, at_most=_LEAVING)
                if content is not None:
                    found[path] = content
        return found

    async def harvest(self) -> Tree:
        """The workspace's content now."""
        place = self._place
        if not place.still_there():
            return Tree(gaps=("the folder of the attempt was moved away",))
        known = Known(entries=self._before.entries, stamps=place.stamps, settled_before=place.settled_before)
        try:
            return scan(self.workspace, known=known, at_most=SMALL)
        except TooMany:
            return await _in_thread(partial(scan, self.workspace, known=known))
