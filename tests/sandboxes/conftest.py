"""What the tests of sandboxes share: a small template, sessions to run programs in, and functions to find processes."""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_io import scan
from demeanor.core.values.ports import Template
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox, BubblewrapSession
from demeanor.sandboxes.levels.none import NoneSandbox, NoneSession
from tests.helpers.processes import command_line, with_environ

T = TypeVar("T")
SOON = 120.0


def wait_until(condition: Callable[[], T]) -> T:
    """The first true answer of `condition`, asked again and again until it is late."""
    deadline = time.monotonic() + SOON
    while not (answer := condition()):
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.002)
    return answer


def mounts() -> list[str]:
    """What is mounted on this machine, without what container engines have: other tests may use one meanwhile."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return [line for line in lines if "/containers/" not in line]


class SandboxHarness:
    """A sandbox with a template, and a mark by which everything started in it can be found."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = uuid.uuid4().hex
        start = folder / "template"
        (start / "docs").mkdir(parents=True)
        (start / "README.md").write_text("# Notes\n")
        (start / "docs/guide.txt").write_text("step by step\n")
        self.template = Template(folder=start, tree=scan(start, in_place=True))
        self.folders = folder / "attempts"
        self.folders.mkdir()

    def in_none(self, body: Callable[[NoneSession], Awaitable[T]], *, sandbox: NoneSandbox | None = None) -> T:
        """The result of `body`, called with a session of `none`; afterwards no process and no folder is left."""
        return self.in_sandbox(sandbox or NoneSandbox(root=self.folders), body)

    def in_bubblewrap(self, body: Callable[[BubblewrapSession], Awaitable[T]], **options: Any) -> T:
        """The same with a session of `bubblewrap`."""
        return self.in_sandbox(BubblewrapSandbox(root=self.folders, **options), body)

    def in_sandbox(self, own: Any, body: Callable[[Any], Awaitable[T]]) -> T:
        """The same with a session of that sandbox."""

        async def main() -> T:
            await own.start()
            try:
                async with own.open_session(self.template) as session:
                    return await body(session)
            finally:
                await own.stop()

        try:
            return asyncio.run(main())
        finally:
            assert self.processes() == []
            assert list(self.folders.iterdir()) == []

    def launch(self, *argv: str) -> Launch:
        """A program that carries the mark."""
        return Launch(argv=argv, env={"MARK": self.mark, "FOLDER": str(self.folder)})

    def python(self, code: str) -> Launch:
        """A Python program that carries the mark."""
        return self.launch(sys.executable, "-S", "-E", "-c", code)

    def run(self, launch: Launch, *, wall: float = SOON, idle: float | None = None) -> ProcessEnd:
        """Run a program in a new session of `none`."""
        limits = Limits(wall=wall, idle=idle, grace=SOON)
        return self.in_none(lambda session: session.run(launch, limits=limits, last_activity=lambda: 0.0))

    def run_until_quiet(self, launch: Launch, *, ready: str, grace: float = SOON) -> ProcessEnd:
        """The same, ended for its silence as soon as the program has made the file `ready`."""
        limits = Limits(wall=SOON, idle=0.05, grace=grace)

        def last_activity() -> float:
            return 0.0 if (self.folder / ready).exists() else time.monotonic()

        return self.in_none(lambda session: session.run(launch, limits=limits, last_activity=last_activity))

    def snapshot_after(self, launch: Launch) -> Tree:
        """What a program leaves in its workspace."""

        async def body(session: NoneSession) -> Tree:
            await session.run(launch, limits=Limits(wall=SOON), last_activity=lambda: 0.0)
            return await session.snapshot()

        return self.in_none(body)

    def processes(self) -> list[int]:
        """Every process on this machine that carries the mark."""
        return with_environ(self.mark)

    def active_until_asleep(self) -> float:
        """When the program was last active: now, until `sleep 99` shows that it has done everything before that. A
        program that is ended after a fixed time may not have begun yet on a busy machine."""
        return 0.0 if any("sleep\x0099" in command_line(pid) for pid in self.processes()) else time.monotonic()

    def noted(self, name: str) -> list[int]:
        """The numbers that a program has appended to a file of the harness."""
        try:
            return [int(word) for word in (self.folder / name).read_text().split()]
        except FileNotFoundError:
            return []


@pytest.fixture
def harness(tmp_path: Path) -> SandboxHarness:
    """A fresh harness."""
    return SandboxHarness(tmp_path)
