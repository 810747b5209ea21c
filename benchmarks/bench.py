"""What a bench costs: the same small program 200 times, 8 at once, bare and on a bench, in one run.

    python benchmarks/bench.py [trials] [at once]

The bare loop makes a folder and spawns the program there; the bench copies a workspace with its repository, supervises
the program, reads everything it left and removes the folder. Rounds alternate, and the quickest of each counts.
"""

# The bare loop is to be as bare as can be.
# ruff: noqa: PTH102, PTH123, ASYNC230

from __future__ import annotations

import asyncio
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable

from demeanor.core.ports import Template
from demeanor.core.process import Launch, Limits
from demeanor.core.scenario import Scenario
from demeanor.runner.template import TemplateCache
from demeanor.sandboxes.levels.none import NoneSandbox

ARGV = ("sh", "-c", "printf hi > out.txt")
ROUNDS = 5


async def timed(one: Callable[[int], Awaitable[None]], trials: int, at_once: int) -> float:
    """Seconds that all trials take."""
    gate = asyncio.Semaphore(at_once)

    async def gated(number: int) -> None:
        async with gate:
            await one(number)

    started = time.perf_counter()
    await asyncio.gather(*(gated(number) for number in range(trials)))
    return time.perf_counter() - started


async def bare_round(trials: int, at_once: int) -> float:
    """The bare loop, in folders of its own."""
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


async def bench_round(sandbox: NoneSandbox, template: Template, trials: int, at_once: int) -> float:
    """The same on benches."""

    async def benched(_: int) -> None:
        async with sandbox.open_session(template) as session:
            await session.run(Launch(argv=ARGV), limits=Limits(wall=60), last_activity=lambda: 0.0)
            tree = await session.snapshot()
        assert tree.entries["out.txt"].read() == b"hi"

    return await timed(benched, trials, at_once)


async def main(trials: int, at_once: int) -> None:
    """Measure both and print the ratio."""
    sandbox, templates = NoneSandbox(), TemplateCache()
    await sandbox.start()
    template = await templates.get(Scenario(prompts=("Say hi.",), files={"README.md": b"# Notes\n"}))
    bare, session = [], []
    for _ in range(ROUNDS):
        bare.append(await bare_round(trials, at_once))
        session.append(await bench_round(sandbox, template, trials, at_once))
    await sandbox.stop()
    templates.close()
    for name, seconds in (("bare", bare), ("bench", session)):
        print(
            f"{name:6} {1000 * min(seconds) / trials:6.2f} ms per trial (median {sorted(seconds)[ROUNDS // 2]:.3f} s)"
        )
    print(f"ratio  {min(session) / min(bare):6.2f}")


if __name__ == "__main__":
    asyncio.run(main(*(int(argument) for argument in (*sys.argv[1:], "200", "8")[:2])))
