"""Measure how much longer the environment of a task takes to start on an image in the cache than without an image.

python benchmarks/task_root.py [IMAGE]      # default: the first image in the cache
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from demeanor.dockerfile.planner import PATH
from demeanor.dockerfile.planner import read as read_dockerfile
from demeanor.harbor_env.dockerfile_replay import Build
from demeanor.harbor_env.image_build import build_root
from demeanor.images.cache import CachedImage, ImageCache
from demeanor.sandboxes.persistent.command import ExecRequest
from demeanor.sandboxes.persistent.factory import PersistentOptions, PersistentSandboxes

_TIMES = 21
_STEPS = "RUN echo built > /built\nWORKDIR /app\nCOPY file /app/\n"


async def started(sandboxes: PersistentSandboxes, root: Path | None) -> None:
    """Start an environment, run a program in it, and stop it."""
    sandbox = await sandboxes.open(PersistentOptions(rootfs=root))
    try:
        await sandbox.run(ExecRequest(argvs=(("true",),), env={"PATH": PATH}))
    finally:
        await sandbox.close()


async def measure(cache: ImageCache, image: CachedImage, context: Path) -> tuple[list[float], list[float]]:
    """The times without an image and with one, in turns."""
    sandboxes = PersistentSandboxes()
    build = Build(image=read_dockerfile(f"FROM {image.name}\n{_STEPS}"), context=context, log=lambda line: None)

    async def with_image() -> None:
        key = await build_root(
            build, image, cache, open_sandbox=lambda root: sandboxes.open(PersistentOptions(rootfs=root))
        )
        with cache.in_use(key) as root:
            await started(sandboxes, root)

    plain, on_image = [], []
    try:
        await with_image()  # builds it
        for _ in range(_TIMES):
            for times, start in ((plain, lambda: started(sandboxes, None)), (on_image, with_image)):
                began = time.perf_counter()
                await start()
                times.append(time.perf_counter() - began)
    finally:
        sandboxes.close()
    return plain, on_image


def main() -> None:
    """Print the medians and the smallest values."""
    cache = ImageCache.of_user(os.environ)
    images = [one for one in cache.images() if not sys.argv[1:] or one.name == sys.argv[1]]
    if not images:
        print("task_root: no such image in the cache (demeanor harbor rootfs make debian:12)")
        return
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "file").write_text("x\n")
        plain, on_image = asyncio.run(measure(cache, images[0], Path(folder)))
    for name, times in {"without an image": plain, f"on {images[0].name}, cached": on_image}.items():
        print(f"{name:<28} median {statistics.median(times) * 1000:6.1f} ms  least {min(times) * 1000:6.1f} ms")
    more = statistics.median(on_image) - statistics.median(plain)
    print(f"difference of the medians: {more * 1000:.1f} ms (least: {(min(on_image) - min(plain)) * 1000:.1f} ms)")


if __name__ == "__main__":
    main()
