"""Reads the definition of a task's environment, as far as it works without a container engine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from demeanor.core.errors import BadInput
from demeanor.dockerfile.image import ImageSpec
from demeanor.dockerfile.planner import PATH, read

_REFUSED = ("docker-compose.yaml", "docker-compose.yml", ".dockerignore")
_LOGS = "/logs/"


def read_definition(folder: Path, image: str | None, rootfs: Path | None, mounts: Iterable[str]) -> ImageSpec:
    """The image to build: from the Dockerfile in a folder, or from a root file system that replaces an image. `mounts`
    are the paths in the environment at which Harbor wants to mount folders of the host. Raises BadInput.
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
    dockerfile = folder / "Dockerfile"
    if dockerfile.exists():
        return read(dockerfile.read_text("utf-8"), where=str(dockerfile))
    if rootfs is None or image is None:
        raise BadInput(
            "the bubblewrap environment can't pull images" if image else "there is no Dockerfile",
            where=folder,
            key=f"docker_image={image!r}" if image else None,
            remedy="add a Dockerfile, or unpack the image to a folder and name it with --ek rootfs=FOLDER",
        )
    return ImageSpec(base=image, env={"PATH": PATH})
