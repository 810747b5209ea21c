"""Finds the base image of a task's environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from demeanor.core.values.errors import BadInput, UsageError
from demeanor.plugins.harbor.dockerfile.image import ImageSpec
from demeanor.plugins.harbor.images.cache import CachedImage, ImageCache
from demeanor.plugins.harbor.images.pull import ShowProgress, pull
from demeanor.plugins.harbor.images.reference import parse_reference
from demeanor.plugins.harbor.rules import Images


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseImage:
    """A base image."""

    image: CachedImage
    """The image in the cache."""

    @property
    def spec(self) -> ImageSpec:
        """Its settings."""
        own = self.image.settings
        return ImageSpec(
            base=self.image.name, env=own.env, workdir=own.workdir, user=own.user, entrypoint=own.entrypoint
        )


class BaseImages:
    """The base images that environments are built on."""

    def __init__(self, choice: str, folder: str, environ: Mapping[str, str]) -> None:
        args = get_args(Images)
        if choice not in args:
            raise BadInput(f"expected {', '.join(args)}, not {choice!r}", where="--ek", key="images")
        self._choice, self._environ = choice, environ
        self.cache = ImageCache(Path(folder)) if folder else ImageCache.of_user(environ)

    def find(self, name: str, *, needed: bool, show: ShowProgress = lambda progress: None) -> BaseImage | None:
        """An image by its name; None if this machine's programs are to be used instead, which an image that is `needed`
        does not allow.
        """
        if self._choice != "host":
            image = self.cache.image(str(parse_reference(name)))
            if image is None and self._choice == "pull":
                image = pull(name, self.cache, self._environ, show)
            if image is not None:
                return BaseImage(image=image)
        if needed:
            raise UsageError(
                f"the image {name} is not in the cache of images, and the task has no Dockerfile\n"
                f"  → demeanor harbor images pull {name}, or name a root file system with --ek rootfs=FOLDER"
            )
        return None
