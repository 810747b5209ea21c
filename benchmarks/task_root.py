"""Measure how much longer the environment of a task takes to start on an image in the cache than a trial without one.

python benchmarks/task_root.py [IMAGE]      # default: the first image in the cache

Three things are started in turns, so that a busy machine is busy for all of them: a plain trial in the sandbox of other
evals, the environment of a task without an image, and one on a root that was built from a Dockerfile and is in the
cache. Each runs `true` and is removed. What is asked for is the last minus the first: at most 150 ms. CPU time is that
of this process and of everything that it started; other programs on the machine have no part in it.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from demeanor.core.trees.tree_io import scan
from demeanor.core.values.ports import Template
from demeanor.core.values.process import Launch, Limits
from demeanor.plugins.harbor.dockerfile.planner import PATH, read as read_dockerfile
from demeanor.plugins.harbor.images.cache import CachedImage, ImageCache
from demeanor.plugins.harbor.inside.dockerfile_replay import Build
from demeanor.plugins.harbor.inside.image_build import build_root
from demeanor.sandboxes.levels.bubblewrap import BubblewrapSandbox
from demeanor.sandboxes.persistent.factory import PersistentOptions, PersistentSandboxes
from demeanor.sandboxes.persistent.spec import ExecRequest

_TIMES = 21
_LIMIT = 0.150
_STEPS = "RUN echo built > /built\nWORKDIR /app\nCOPY file /app/\n"
_TICKS = os.sysconf("SC_CLK_TCK")


async def started(sandboxes: PersistentSandboxes, root: Path | None) -> None:
    """Start an environment, run a program in it, and stop it."""
    sandbox = await sandboxes.open(PersistentOptions(rootfs=root))
    try:
        await sandbox.run(ExecRequest(argvs=(("true",),), env={"PATH": PATH}))
    finally:
        await sandbox.close()


async def plain_trial(level: BubblewrapSandbox, template: Template) -> None:
    """Run a program in the sandbox of other evals: create, run, snapshot, remove."""
    async with level.open_session(template) as session:
        end = await session.run(Launch(argv=("true",)), limits=Limits(wall=60), last_activity=lambda: 0.0)
        assert end.exit_code == 0


def cpu_seconds() -> float:
    """The CPU time of this process, of its descendants, and of those that they have waited for."""
    parents: dict[int, list[tuple[int, int]]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        parents.setdefault(int(fields[1]), []).append((int(folder.name), sum(map(int, fields[11:15]))))
    own = os.times()
    found, waiting = sum(own[:4]), [os.getpid()]
    while waiting:
        for pid, ticks in parents.get(waiting.pop(), ()):
            found += ticks / _TICKS
            waiting.append(pid)
    return found


async def measure(cache: ImageCache, image: CachedImage, folder: Path) -> dict[str, list[tuple[float, float]]]:
    """Wall and CPU time of each start, by name, in turns."""
    context, workspace = folder / "context", folder / "workspace"
    for one in (context, workspace):
        one.mkdir()
        (one / "file").write_text("x\n")
    sandboxes, level = PersistentSandboxes(), BubblewrapSandbox(root=folder)
    template = Template(folder=workspace, tree=scan(workspace, in_place=True))
    build = Build(image=read_dockerfile(f"FROM {image.name}\n{_STEPS}"), context=context, log=lambda line: None)

    async def with_image() -> None:
        key = await build_root(
            build, image, cache, open_sandbox=lambda root: sandboxes.open(PersistentOptions(rootfs=root))
        )
        with cache.in_use(key) as root:
            await started(sandboxes, root)

    starts: dict[str, Callable[[], Awaitable[None]]] = {
        "plain trial": lambda: plain_trial(level, template),
        "task without an image": lambda: started(sandboxes, None),
        f"task on {image.name}, cached": with_image,
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in starts}
    try:
        for start in starts.values():  # the first time, servers are started and the root is built
            await start()
        for _ in range(_TIMES):
            for name, start in starts.items():
                began, used = time.perf_counter(), cpu_seconds()
                await start()
                taken[name].append((time.perf_counter() - began, cpu_seconds() - used))
    finally:
        sandboxes.close()
        await level.stop()
    return taken


def main() -> None:
    """Print the medians and the smallest values, and the difference that is asked for."""
    cache = ImageCache.of_user(os.environ)
    images = [one for one in cache.images() if not sys.argv[1:] or one.name == sys.argv[1]]
    if not images:
        print("task_root: no such image in the cache (demeanor harbor rootfs make debian:12)")
        return
    with tempfile.TemporaryDirectory() as folder:
        taken = asyncio.run(measure(cache, images[0], Path(folder)))
    for name, times in taken.items():
        wall, cpu = ([one[index] * 1000 for one in times] for index in (0, 1))
        print(
            f"{name:<40} median {statistics.median(wall):6.1f} ms  least {min(wall):6.1f} ms"
            f"  CPU mean {statistics.mean(cpu):6.1f} ms"
        )
    plain, _, cached = taken.values()
    pairs = list(zip(plain, cached, strict=True))
    more = statistics.median(b[0] - a[0] for a, b in pairs)
    work = statistics.mean(b[1] - a[1] for a, b in pairs)
    word = "within" if more <= _LIMIT else "ABOVE"
    print(
        f"cached root minus plain trial, median of {_TIMES} pairs: {more * 1000:.1f} ms, {word} the bar of"
        f" {_LIMIT * 1000:.0f} ms; CPU {work * 1000:.1f} ms; load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"
    )


if __name__ == "__main__":
    main()
