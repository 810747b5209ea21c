"""The overhead of a sandbox: starting a program compared with fork and exec, and a large workspace with `cp -a`.

Everything is measured alternately, in one run, and medians are compared: a busy machine is busy for both sides.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from demeanor.core.trees.tree_io import scan
from demeanor.core.values.ports import Sandbox, Template
from demeanor.core.values.process import Launch, Limits
from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox
from demeanor.sandboxes.levels.none import NoneSandbox

TIMES, PLUS = 4, 0.025
SHARE = 0.15
FILES, BYTES = 5_000, 40_000
PROGRAM = ("/bin/true",)


async def bare() -> None:
    """Start a program without a sandbox."""
    process = await asyncio.create_subprocess_exec(*PROGRAM, stdin=subprocess.DEVNULL)
    await process.wait()


async def boxed(sandbox: Sandbox, template: Template) -> None:
    """The same in a sandbox: create, run, snapshot, remove."""
    async with sandbox.open_session(template) as session:
        end = await session.run(Launch(argv=PROGRAM), limits=Limits(wall=60), last_activity=lambda: 0.0)
        assert end.exit_code == 0


async def timed(work: Callable[[], Awaitable[object]]) -> float:
    """The duration of something in seconds."""
    started = time.perf_counter()
    await work()
    return time.perf_counter() - started


def small(folder: Path) -> Template:
    """A workspace of one file."""
    folder.mkdir()
    (folder / "README.md").write_text("# Notes\n")
    return Template(folder=folder, tree=scan(folder, in_place=True))


def large(folder: Path) -> Template:
    """A workspace of 5,000 files and 200 MB."""
    for number in range(FILES):
        place = folder / f"{number % 100}/{number}.bin"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(number.to_bytes(4, "big") * (BYTES // 4))
    return Template(folder=folder, tree=scan(folder, in_place=True))


async def starts(root: Path, rounds: int) -> bool:
    """Compare starts."""
    template = small(root / "small")
    in_bubblewrap, opened = BubblewrapSandbox(root=root), NoneSandbox(root=root)
    taken: dict[str, list[float]] = {"bare": [], "none": [], "bubblewrap": []}
    for _ in range(rounds + 1):
        taken["bare"].append(await timed(bare))
        taken["none"].append(await timed(lambda: boxed(opened, template)))
        taken["bubblewrap"].append(await timed(lambda: boxed(in_bubblewrap, template)))
    await in_bubblewrap.stop()
    await opened.stop()
    middle = {name: statistics.median(times[1:]) for name, times in taken.items()}
    for name, times in taken.items():
        print(f"{name:<11} median {middle[name] * 1000:6.1f} ms   least {min(times[1:]) * 1000:6.1f} ms")
    bar = TIMES * middle["bare"] + PLUS
    held = middle["bubblewrap"] <= bar
    word = "within" if held else "ABOVE"
    print(f"start to reaped: {middle['bubblewrap'] * 1000:.1f} ms, {word} the bar of {bar * 1000:.1f} ms\n")
    return held


async def workspaces(root: Path, rounds: int) -> bool:
    """Compare the additional time of a large workspace with that of `cp -a`."""
    little, much = small(root / "little"), large(root / "large")
    in_bubblewrap = BubblewrapSandbox(root=root)
    await boxed(in_bubblewrap, much)  # work that is done once per run is not measured
    await boxed(in_bubblewrap, little)
    copies, more = [], []
    for number in range(rounds):
        copy = ["cp", "-a", str(much.folder), str(root / f"copy{number}")]
        copies.append(await timed(lambda words=copy: asyncio.to_thread(subprocess.run, words, check=True)))  # type: ignore[misc]
        await asyncio.to_thread(subprocess.run, ["rm", "-rf", copy[-1]], check=True)
        usual = await timed(lambda: boxed(in_bubblewrap, little))
        more.append(await timed(lambda: boxed(in_bubblewrap, much)) - usual)
    await in_bubblewrap.stop()
    copied, took = statistics.median(copies), max(statistics.median(more), 0.0)
    held = took <= SHARE * copied
    print(f"cp -a of {FILES} files, {FILES * BYTES / 1e6:.0f} MB: {copied * 1000:.0f} ms")
    word = "within" if held else "ABOVE"
    print(f"workspace ready: {took * 1000:.1f} ms more, {took / copied:.1%}, {word} the bar of {SHARE:.0%}")
    return held


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(starts(Path(folder), rounds))
        asyncio.run(workspaces(Path(folder), max(rounds // 8, 3)))


if __name__ == "__main__":
    main()
