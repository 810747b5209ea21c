"""The base images of a run's tasks: pulled before the run if that is configured, and named if they are missing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.values.errors import BadInput, UsageError
from demeanor.plugins.harbor.format.task import HarborTask

if TYPE_CHECKING:
    from demeanor.plugins.harbor.environments.choice import EnvironmentChoice
    from demeanor.plugins.harbor.images.pull import PullProgress, ShowProgress

_CACHE, _IMAGES, _ROOTFS = "image_cache", "images", "rootfs"


def with_image_cache(environment: EnvironmentChoice, environ: Mapping[str, str]) -> EnvironmentChoice:
    """The bubblewrap environment with the user's cache of images: Harbor itself runs with a private HOME."""
    if not environment.ours or _CACHE in environment.kwargs:
        return environment
    from demeanor.plugins.harbor.images.cache import ImageCache

    folder = str(ImageCache.of_user(environ).folder)
    return replace(environment, kwargs={**environment.kwargs, _CACHE: folder})


def prepare_images(
    tasks: Iterable[HarborTask], environment: EnvironmentChoice, environ: Mapping[str, str]
) -> tuple[str, ...]:
    """Pull the base images that are missing, if that is configured; returns a note for those that are not used."""
    names = sorted(set(base_images(tasks)))
    if not environment.ours or environment.kwargs.get(_ROOTFS) or not names:
        return ()
    from demeanor.plugins.harbor.environments.base_image import BaseImages

    choice = str(environment.kwargs.get(_IMAGES, "cached"))
    images = BaseImages(choice, str(environment.kwargs.get(_CACHE, "")), environ)
    show = progress_lines()
    missing = [name for name in names if images.find(name, needed=False, show=show) is None]
    if not missing or choice == "host":
        return ()
    listed = ", ".join(missing)
    return (
        f"Not in the cache of images: {listed}. Tasks built on them use this machine's programs instead"
        f' (demeanor harbor images pull {missing[0]}, or [harbor] images = "pull")',
    )


def task_refusal(task: HarborTask, environment: EnvironmentChoice, environ: Mapping[str, str]) -> str | None:
    """Why an environment would refuse every attempt at a task; None if it would not, or if that can't be known."""
    if not environment.ours:
        return None
    from demeanor.plugins.harbor.environments.base_image import BaseImages
    from demeanor.plugins.harbor.environments.definition import check_environment, check_task_users

    rootfs, choice = environment.kwargs.get(_ROOTFS), str(environment.kwargs.get(_IMAGES, "cached"))
    images = BaseImages(choice, str(environment.kwargs.get(_CACHE, "")), environ)
    try:
        check_task_users(task)
        for machine in task.machines:
            check_environment(machine, Path(rootfs).expanduser() if rootfs else None)
            if machine.image and not machine.dockerfile and not rootfs and choice != "pull":
                images.find(machine.image, needed=True)
    except (BadInput, UsageError, OSError, UnicodeDecodeError) as error:
        return str(error).replace("\n  → ", "; ")
    return None


def base_images(tasks: Iterable[HarborTask]) -> Iterable[str]:
    """The names of the images that tasks are built on. A Dockerfile that can't be read is reported with its task."""
    from demeanor.plugins.harbor.environments.definition import read_definition
    from demeanor.plugins.harbor.images.reference import parse_reference

    for own in (machine for task in tasks for machine in task.machines):
        try:
            name = read_definition(own.folder, own.image).base
            parse_reference(name)
        except (BadInput, UsageError, OSError, UnicodeDecodeError):
            continue
        yield name


def progress_lines() -> ShowProgress:
    """Print how far a download is, on standard error: its size at first, then a line per tenth."""
    last: dict[str, int] = {}

    def show(progress: PullProgress) -> None:
        tenth = 10 * progress.done // progress.total if progress.total else 10
        if tenth != last.get(progress.name):
            seen = progress.name in last
            last[progress.name] = tenth
            size = f"{progress.total / 2**20:.1f} MB"
            start = f"downloading {size}" if progress.total else "nothing to download"
            sys.stderr.write(f"{progress.name}: {f'{tenth * 10} % of {size}' if seen else start}\n")
            sys.stderr.flush()

    return show
