"""Builds the root file system that a Dockerfile describes on top of an image, and keeps it in the cache of images.

The key of a step is the key of everything before it and the step itself, with the content of the files that it copies.
The build starts after the last step whose result is in the cache. The result is kept at the end, and after each step
that took long; further steps run in a new sandbox on top of it, so that what is kept next shares its files.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from demeanor.core.values.errors import BadInput
from demeanor.plugins.harbor.dockerfile.image import Copy, ImageSpec, MakeFolder, Run, Step
from demeanor.plugins.harbor.environments.definition import copied_files
from demeanor.plugins.harbor.images.cache import CachedImage, ImageCache, step_key
from demeanor.plugins.harbor.images.layer import apply_layer
from demeanor.plugins.harbor.inside.dockerfile_replay import Build, replay_step
from demeanor.sandboxes import in_thread
from demeanor.sandboxes.persistent import PersistentSandbox

_KEPT_AFTER = 2.0
"""A result is kept in the cache after a step that took longer, in seconds."""

_POLLED_EVERY = 0.2

OpenSandbox = Callable[[Path], Awaitable[PersistentSandbox]]


async def build_root(build: Build, base: CachedImage, cache: ImageCache, *, open_sandbox: OpenSandbox) -> str:
    """Build what is not in the cache yet; returns the key of the root. Raises BadInput for a step that fails."""
    keys = await in_thread(_keys, build.image, base.key, build.context)
    while (first := _cached(keys, cache)) < len(build.image.steps):
        with cache.building(keys[first + 1]) as ours:
            if ours and first == _cached(keys, cache):
                await _build(build, keys, first, cache, open_sandbox)
                continue
        await asyncio.sleep(_POLLED_EVERY)  # another process builds this step, perhaps for another task
    return keys[-1]


def _cached(keys: list[str], cache: ImageCache) -> int:
    """How many steps the longest result in the cache has."""
    return max(number for number, key in enumerate(keys) if number == 0 or cache.root(key))


async def _build(build: Build, keys: list[str], first: int, cache: ImageCache, open_sandbox: OpenSandbox) -> None:
    """Run the steps after the first ones, whose result is in the cache, until there is a result to keep."""
    image = build.image
    with cache.in_use(keys[first]) as root:
        sandbox = await open_sandbox(root)
        try:
            for number in range(first, len(image.steps)):
                began = time.monotonic()
                await replay_step(image.steps[number], build, sandbox)
                last = number + 1 == len(image.steps)
                if last or time.monotonic() - began > _KEPT_AFTER:
                    await _keep(sandbox, cache, key=keys[number + 1], parent=keys[first], origin=_origin(image, number))
                    return
        finally:
            await sandbox.close()


async def _keep(sandbox: PersistentSandbox, cache: ImageCache, *, key: str, parent: str, origin: str) -> None:
    """Store the root as it is now."""
    with tempfile.TemporaryDirectory(prefix="demeanor-layer-") as folder:
        layer = Path(folder, "layer.tar")
        await sandbox.export_layer(layer)

        def fill(root: Path) -> None:
            with layer.open("rb") as archive:
                apply_layer(archive, root, origin)

        await in_thread(lambda: cache.add_root(key, parent=parent, origin=origin, fill=fill))


def _origin(image: ImageSpec, number: int) -> str:
    step = image.steps[number]
    return f"{image.base} and steps of a Dockerfile up to line {step.line}"


def _keys(image: ImageSpec, base: str, context: Path) -> list[str]:
    """The keys of the base and of the root after each step."""
    owners = "with owners" if os.geteuid() == 0 else "one owner"
    keys = [base]
    for step in image.steps:
        keys.append(step_key(keys[-1], f"{owners} {_described(step, context)}"))
    return keys


def _described(step: Step, context: Path) -> str:
    """Everything that the result of a step depends on, except what was before it."""
    match step:
        case MakeFolder():
            return f"folder {step.path!r} {step.user!r}"
        case Run():
            return f"run {step.argv!r} {sorted(step.env.items())!r} {step.cwd!r} {step.user!r}"
        case Copy():
            files = [_content_hash(source, step) for source in copied_files(step, context)]
            where = (step.target, step.into, step.owner, step.mode, step.unpacks)
            return f"copy {files!r} {sorted(step.documents.items())!r} {where!r}"


def _content_hash(source: Path, step: Copy) -> str:
    """The hash of a file or a folder: names, permissions and content."""
    digest = hashlib.sha256()
    paths = [source, *sorted(source.rglob("*"))] if source.is_dir() and not source.is_symlink() else [source]
    for path in paths:
        info = path.lstat() if path != source else path.stat()
        name = path.relative_to(source.parent)
        digest.update(
            f"{name}\0{stat.S_IMODE(info.st_mode):o}\0{stat.S_IFMT(info.st_mode):o}\0".encode(
                "utf-8", "surrogateescape"
            )
        )
        if stat.S_ISLNK(info.st_mode):
            digest.update(os.fsencode(path.readlink()))
        elif stat.S_ISREG(info.st_mode):
            digest.update(f"{info.st_size}\0".encode())
            try:
                with path.open("rb") as file:
                    while piece := file.read(2**20):
                        digest.update(piece)
            except OSError as error:
                raise BadInput(f"{path}: {error.strerror}", where=f"Dockerfile:{step.line}", key=step.name) from None
    return digest.hexdigest()
