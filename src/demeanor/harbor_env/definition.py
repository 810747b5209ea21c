"""What a task says of its environment, as far as it can be honoured without a container engine."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from demeanor.core.errors import BadInput
from demeanor.dockerfile.image import ImageSpec
from demeanor.dockerfile.planner import PATH, read

_REFUSED = ("docker-compose.yaml", "docker-compose.yml", ".dockerignore")
_LOGS = "/logs/"


def read_definition(folder: Path, image: str | None, rootfs: Path | None, mounts: Iterable[str]) -> ImageSpec:
    """What is to be built: by the Dockerfile in a folder, or from a root file system that stands for an image. `mounts`
    are places of the environment's at which Harbor wants to see folders of the host's. Raises BadInput.
    """
    for name in _REFUSED:
        if (folder / name).exists():
            raise BadInput("can't be honoured by the bubblewrap environment", where=folder / name)
    if rootfs is not None and not (rootfs / "bin").exists():
        raise BadInput("it is no root file system: it has no bin", where=rootfs, key="rootfs")
    for target in mounts:
        if not target.startswith(_LOGS):  # those are fetched when they are needed
            raise BadInput("no folder of the host can be mounted", where="environment.mounts", key=target)
    dockerfile = folder / "Dockerfile"
    if dockerfile.exists():
        return read(dockerfile.read_text("utf-8"), where=str(dockerfile))
    if rootfs is None or image is None:
        raise BadInput(
            "an image can't be fetched by the bubblewrap environment" if image else "there is no Dockerfile",
            where=folder,
            key=f"docker_image={image!r}" if image else None,
            remedy="add a Dockerfile, or unpack the image to a folder and name it with --ek rootfs=FOLDER",
        )
    return ImageSpec(base=image, env={"PATH": PATH})
