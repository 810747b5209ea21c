"""The overhead of the sandbox level `none`: a small program 200 times, 8 in parallel, with and without it.

    python benchmarks/none_sandbox.py [trials] [parallel]

The bare loop creates a folder and starts the program there. The sandbox copies a workspace with its repository,
supervises the program, takes a snapshot and removes the folder. Rounds alternate, and the fastest of each counts.
"""

# The bare loop uses the fastest calls.
# ruff: noqa: PTH102, PTH123, ASYNC230

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable

from demeanor.core.values.ports import Template
from demeanor.core.values.process import Launch, Limits
from demeanor.core.values.scenario import Scenario
from demeanor.runner.template import temporary_templates
from demeanor.sandboxes.levels.none import NoneSandbox

ARGV = ("sh", "-c", "printf hi > out.txt")
ROUNDS = 5


async def timed(one: Callable[[int], Awaitable[None]], trials: int, at_once: int) -> float:
    """The duration of all trials in seconds."""
    gate = asyncio.Semaphore(at_once)

    async def gated(number: int) -> None:
        async with gate:
            await one(number)

    started = time.perf_counter()
    await asyncio.gather(*(gated(number) for number in range(trials)))
    return time.perf_counter() - started


async def bare_round(trials: int, at_once: int) -> float:
    """The bare loop."""
    root = tempfile.mkdtemp(prefix="bare-")

    async def bare(number: int) -> None:
        folder = f"{root}/{number}"
        os.mkdir(folder)
        process = await asyncio.create_subprocess_exec(*ARGV, cwd=folder)
        await process.wait()
        with open(f"{folder}/out.txt") as file:
            assert file.read() == "hi"

    try:
        return await timed(bare, trials, at_once)
    finally:
        shutil.rmtree(root)


async def sandbox_round(sandbox: NoneSandbox, template: Template, trials: int, at_once: int) -> float:
    """The same in the sandbox."""

    async def sandboxed(_: int) -> None:
        async with sandbox.open_session(template) as session:
            await session.run(Launch(argv=ARGV), limits=Limits(wall=60), last_activity=lambda: 0.0)
            tree = await session.snapshot()
        assert tree.entries["out.txt"].read() == b"hi"

    return await timed(sandboxed, trials, at_once)


async def main(trials: int, at_once: int) -> None:
    """Measure both and print the ratio."""
    sandbox = NoneSandbox()
    await sandbox.start()
    bare, sandboxed = [], []
    with temporary_templates() as templates:
        template = await templates.get(Scenario(prompts=("Say hi.",), files={"README.md": b"# Notes\n"}))
        for _ in range(ROUNDS):
            bare.append(await bare_round(trials, at_once))
            sandboxed.append(await sandbox_round(sandbox, template, trials, at_once))
    await sandbox.stop()
    for name, seconds in (("bare", bare), ("none", sandboxed)):
        print(
            f"{name:6} {1000 * min(seconds) / trials:6.2f} ms per trial (median {sorted(seconds)[ROUNDS // 2]:.3f} s)"
        )
    print(f"ratio  {min(sandboxed) / min(bare):6.2f}")


if __name__ == "__main__":
    asyncio.run(main(*(int(argument) for argument in (*sys.argv[1:], "200", "8")[:2])))
