"""`--sandbox local`: a fresh folder, a clean environment and certain death, but no wall around the agent.

What this level promises, and what it does not, is said in docs/sandboxes.md.
"""

# pathlib costs more than the system calls that are made here in large numbers.
# ruff: noqa: PTH102

from __future__ import annotations

import asyncio
import itertools
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from holdfast.core.errors import WorldError
from holdfast.core.folder import Known, Stamp, TooMany, path_problem, restore, scan
from holdfast.core.ports import CommandResult, Template
from holdfast.core.process import Launch, Limits, ProcessEnd
from holdfast.core.verdict import VoidCause
from holdfast.core.workspace import Tree
from holdfast.sandboxes.folder import Master, copy, read_master, remove
from holdfast.sandboxes.launcher import Launcher
from holdfast.sandboxes.running import Program, attend, attend_blocking

_INLINE = 200
"""So many files are dealt with at once; more of them in a thread, so that other trials go on meanwhile."""

_TICK_NS = 20_000_000
"""File systems date changes by a clock that ticks this often at least."""

_COMMAND_OUTPUT = 2**20
_HOME, _TEMP, _WORKSPACE = "home", "tmp", "workspace"


class LocalSandbox:
    """Agents run as ordinary processes of this user, each attempt in a folder of its own."""

    name = "local"

    def __init__(self, root: Path | None = None, pass_env: Sequence[str] = (), path: str | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="holdfast-", dir=root))
        """Everything lies in here; it is removed at the end, also when Holdfast itself is killed."""
        self._base = {
            "PATH": path if path is not None else os.environ.get("PATH", os.defpath),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "USER": "agent",
            **{name: os.environ[name] for name in pass_env if name in os.environ},
        }
        self._launcher = Launcher(self.folder)
        self._masters: dict[Path, Master] = {}
        self._numbers = itertools.count(1)

    async def start(self) -> None:
        """Make ready."""
        self._launcher.start()

    async def stop(self) -> None:
        """Take everything down."""
        await asyncio.to_thread(self._stop)

    def _stop(self) -> None:
        remove(str(self.folder))
        self._launcher.stop()

    @asynccontextmanager
    async def bench(self, template: Template) -> AsyncIterator[LocalBench]:
        """A fresh bench whose workspace is a copy of the template."""
        place = self._new_place()
        try:
            master = self._masters.get(template.folder)
            if master is None:
                master = self._masters[template.folder] = read_master(template.folder)
            work = f"{place}/workspace"
            small = len(master.pieces) <= _INLINE
            stamps = copy(master, work) if small else await asyncio.to_thread(copy, master, work)
            yield LocalBench(place, self._launcher, self.environment(place), template.tree, stamps)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the bench can't be set up: {error}") from error
        finally:
            if not remove(place, at_most=_INLINE):
                await asyncio.to_thread(remove, place)

    def _new_place(self) -> str:
        """A folder for one attempt, with its own HOME and temp folder."""
        place = f"{self.folder}/{next(self._numbers)}"
        try:
            os.mkdir(place, 0o700)
            os.mkdir(f"{place}/{_HOME}")
            os.mkdir(f"{place}/{_TEMP}")
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the bench can't be set up: {error}") from error
        return place

    def environment(self, place: str) -> dict[str, str]:
        """All that a program in `place` gets to know of the host, and where its own folders are."""
        home, temp = f"{place}/{_HOME}", f"{place}/{_TEMP}"
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
        place = self._new_place()
        try:
            os.mkdir(f"{place}/workspace")
            restore(tree, Path(place, "workspace"))
            program = Program(
                self._launcher.supervisor(),
                argv=argv,
                cwd=f"{place}/workspace",
                env=self.environment(place),
                limits=Limits(wall=timeout, grace=0.0, output_bytes=_COMMAND_OUTPUT),
            )
            try:
                end = attend_blocking(program)
            finally:
                program.close()
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

    def __init__(
        self, place: str, launcher: Launcher, env: Mapping[str, str], before: Tree, stamps: Mapping[str, Stamp]
    ) -> None:
        self.workspace = Path(place, "workspace")
        self.home = Path(place, "home")
        self._launcher = launcher
        self._env = env
        self._before = before
        self._stamps = stamps
        self._settled = time.time_ns() - _TICK_NS

    def lay_home(self, files: Mapping[str, bytes]) -> None:
        """Write configuration files into HOME."""
        for path, content in files.items():
            problem = path_problem(path)
            if problem:
                raise ValueError(f"home file {path!r} {problem}")
            place = self.home / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)

    async def run(self, launch: Launch, *, limits: Limits, last_activity: Callable[[], float]) -> ProcessEnd:
        """Run a program to its end; when this returns or raises, every process it started is gone."""
        program = Program(
            self._launcher.supervisor(),
            argv=launch.argv,
            cwd=str(self.workspace),
            env={**self._env, **launch.env},
            limits=limits,
        )
        try:
            return await attend(program, last_activity)
        finally:
            program.close()

    async def harvest(self) -> Tree:
        """The workspace's content now."""
        known = Known(entries=self._before.entries, stamps=self._stamps, settled_before=self._settled)
        try:
            return scan(self.workspace, known=known, at_most=_INLINE)
        except TooMany:
            return await asyncio.to_thread(scan, self.workspace, known=known)
