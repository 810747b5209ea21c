"""Reads the definition of a task's environment, as far as it works without a container engine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from demeanor.core.errors import BadInput
from demeanor.core.harbor_task import TaskEnvironment
from demeanor.dockerfile.image import Copy, ImageSpec
from demeanor.dockerfile.planner import PATH, read
from demeanor.harbor.build_context import copied_files

_REFUSED = ("docker-compose.yaml", "docker-compose.yml", ".dockerignore")
_LOGS = "/logs/"


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


def check_environment(machine: TaskEnvironment, rootfs: Path | None) -> None:
    """Raise BadInput for an environment that would be refused, as far as that can be known without building it."""
    where = machine.folder.parent / "task.toml"
    if machine.os != "linux":
        raise BadInput("the bubblewrap environment runs Linux only", where=where, key="environment.os")
    if machine.gpus:
        raise BadInput("the bubblewrap environment has no GPUs", where=where, key="environment.gpus")
    check_definition(machine.folder, rootfs, ())
    for step in read_definition(machine.folder, machine.image).steps:
        if isinstance(step, Copy):
            copied_files(step, machine.folder)


def read_definition(folder: Path, image: str | None, base: ImageSpec | None = None) -> ImageSpec:
    """The image to build, with the settings of its base image, if these are known: from the Dockerfile in a folder, or
    the prebuilt image that the task names. Raises BadInput.
    """
    dockerfile = folder / "Dockerfile"
    if dockerfile.exists():
        return read(dockerfile.read_text("utf-8"), where=str(dockerfile), base=base)
    if image is None:
        raise BadInput("there is no Dockerfile", where=folder, remedy="add a Dockerfile, or name a docker_image")
    if base is None:
        return ImageSpec(base=image, env={"PATH": PATH})
    return ImageSpec(
        base=image,
        env={"PATH": PATH, **base.env},
        workdir=base.workdir,
        user=base.user,
        entrypoint=base.entrypoint,
    )
