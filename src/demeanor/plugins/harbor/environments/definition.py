"""Reads the definition of a task's environment, as far as it works without a container engine."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from demeanor.core.values.errors import BadInput, UsageError
from demeanor.plugins.harbor.dockerfile.image import Copy, ImageSpec, Run
from demeanor.plugins.harbor.dockerfile.planner import PATH, read
from demeanor.plugins.harbor.format.task import HarborTask, TaskEnvironment
from demeanor.plugins.harbor.images.reference import parse_reference

_REFUSED = ("docker-compose.yaml", ".dockerignore")
_LOGS = "/logs/"

ONLY_ROOT = "root is the only user in the bubblewrap environment, since Demeanor does not run as root"


def check_definition(folder: Path, rootfs: Path | None, mounts: Iterable[str]) -> None:
    """Raise BadInput for what this environment does not support. `mounts` are the paths in the environment at which
    Harbor wants to mount folders of the host.
    """
    for name in _REFUSED:
        if (folder / name).exists():
            raise BadInput("the bubblewrap environment does not support this file", where=folder / name)
    if rootfs is not None and not (rootfs / "bin").exists():
        raise BadInput("not a root file system: it has no folder bin", where=rootfs, key="rootfs")
    for target in mounts:
        if not target.startswith(_LOGS):  # logs are copied out when they are needed
            raise BadInput(
                "the bubblewrap environment can't mount folders of the host", where="environment.mounts", key=target
            )


def check_users(image: ImageSpec, folder: Path) -> None:
    """Raise BadInput for an image whose programs run as another user than root, where root is the only user."""
    if not _has_one_user():
        return
    dockerfile = folder / "Dockerfile"
    for step in image.steps:
        if isinstance(step, Run) and not is_root(step.user):
            raise BadInput(f"runs as {step.user!r}, but {ONLY_ROOT}", where=f"{dockerfile}:{step.line}", key="RUN")
    if not is_root(image.user):
        where = f"{dockerfile}:{image.user_line}" if image.user_line else image.base
        raise BadInput(ONLY_ROOT, where=where, key=f"USER {image.user}")


def check_task_users(task: HarborTask) -> None:
    """Raise BadInput for a task.toml that names another user than root, where root is the only user."""
    for key, user in task.users.items():
        if _has_one_user() and not is_root(user):
            raise BadInput(f"is {user!r}, but {ONLY_ROOT}", where=task.folder / "task.toml", key=key)


def _has_one_user() -> bool:
    """Whether environments have one user only, because an ordinary user can't create others."""
    return os.geteuid() != 0


def is_root(user: str) -> bool:
    """Whether a user, as in a Dockerfile, is root."""
    return user.partition(":")[0] in ("root", "0")


def check_environment(machine: TaskEnvironment, rootfs: Path | None) -> None:
    """Raise BadInput for an environment that would be refused, as far as that can be known without building it."""
    where = machine.folder.parent / "task.toml"
    if machine.os != "linux":
        raise BadInput("the bubblewrap environment runs Linux only", where=where, key="environment.os")
    if machine.gpus:
        raise BadInput("the bubblewrap environment has no GPUs", where=where, key="environment.gpus")
    check_definition(machine.folder, rootfs, ())
    image = read_definition(machine.folder, machine.image)
    check_users(image, machine.folder)
    for step in image.steps:
        if isinstance(step, Copy):
            copied_files(step, machine.folder)


def read_definition(folder: Path, image: str | None, base: ImageSpec | None = None) -> ImageSpec:
    """The image to build, with the settings of its base image, if these are known: from the Dockerfile in a folder, or
    the prebuilt image that the task names. Raises BadInput.
    """
    dockerfile = folder / "Dockerfile"
    if dockerfile.exists():
        spec = read(dockerfile.read_text("utf-8"), where=str(dockerfile), base=base)
        _check_name(spec.base, where=f"{dockerfile}:{spec.base_line}", key="FROM")
        return spec
    if image is None:
        raise BadInput("there is no Dockerfile", where=folder, remedy="add a Dockerfile, or name a docker_image")
    _check_name(image, where=str(folder.parent / "task.toml"), key="docker_image")
    if base is None:
        return ImageSpec(base=image, env={"PATH": PATH})
    return ImageSpec(
        base=image,
        env={"PATH": PATH, **base.env},
        workdir=base.workdir,
        user=base.user,
        entrypoint=base.entrypoint,
    )


def _check_name(image: str, *, where: str, key: str) -> None:
    try:
        parse_reference(image)
    except UsageError:
        remedy = "write REPOSITORY:TAG or REPOSITORY@sha256:…"
        raise BadInput("not the name of an image", where=where, key=f"{key} {image}", remedy=remedy) from None


def copied_files(step: Copy, context: Path) -> list[Path]:
    """The files and folders that a step copies; raises BadInput if there are none for a pattern."""
    return [source for pattern in step.sources for source in _matches(pattern, context, step)]


def _matches(pattern: str, context: Path, step: Copy) -> list[Path]:
    """The files that a pattern matches; raises BadInput when there are none, or when one is outside of the context."""
    plain = context / pattern.lstrip("/")
    if plain.exists():
        sources = [plain]
    else:
        sources = sorted(context.glob(pattern.lstrip("/"))) if any(sign in pattern for sign in "*?[") else []
    problem = "" if sources else f"there is no {pattern!r} in {context}"
    if any(not source.resolve().is_relative_to(context.resolve()) for source in sources):
        problem = f"{pattern!r} leads out of {context}"
    if problem:
        raise BadInput(problem, where=f"Dockerfile:{step.line}", key=step.name)
    return sources
