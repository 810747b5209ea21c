"""The name of an image: a registry, a repository, and a tag or a digest."""

from __future__ import annotations

import re
from dataclasses import dataclass

from demeanor.core.values.errors import UsageError

DEFAULT_REGISTRY = "docker.io"
"""The registry of names without one, as in Docker."""

_API_HOSTS = {DEFAULT_REGISTRY: "registry-1.docker.io"}
_REPOSITORY = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_REGISTRY = re.compile(r"(?:localhost|[a-z0-9-]+(?:\.[a-z0-9-]+)+|localhost:\d+|[a-z0-9.-]+:\d+)", re.IGNORECASE)
_LOOPBACK = re.compile(r"(?:localhost|127(?:\.\d+){3})(?::\d+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageReference:
    """The name of an image."""

    registry: str
    """The registry, as a host with an optional port."""

    repository: str
    """The path of the image in the registry."""

    tag: str = "latest"
    """The tag; not used if there is a digest."""

    digest: str = ""
    """The digest of the manifest (`sha256:…`); empty if the image is named by its tag."""

    def __str__(self) -> str:
        """The name as in Docker: without the default registry, and without `library/`."""
        usual = self.registry == DEFAULT_REGISTRY
        name = self.repository.removeprefix("library/") if usual else f"{self.registry}/{self.repository}"
        return f"{name}@{self.digest}" if self.digest else f"{name}:{self.tag}"

    @property
    def target(self) -> str:
        """What to ask the registry for: the digest, or the tag."""
        return self.digest or self.tag

    @property
    def api(self) -> str:
        """The URL of the registry's API. A registry on this machine is used without TLS, as in Docker."""
        scheme = "http" if _LOOPBACK.fullmatch(self.registry) else "https"
        return f"{scheme}://{_API_HOSTS.get(self.registry, self.registry)}/v2"


def parse_reference(text: str) -> ImageReference:
    """The name of an image, as in FROM; raises UsageError."""
    rest, _, digest = text.partition("@")
    first, slash, path = rest.partition("/")
    registry = DEFAULT_REGISTRY
    if slash and _REGISTRY.fullmatch(first):
        registry, rest = first.lower(), path
    repository, colon, tag = rest.partition(":")
    if registry == DEFAULT_REGISTRY and "/" not in repository:
        repository = f"library/{repository}"
    if (
        not _REPOSITORY.fullmatch(repository)
        or (colon and not _TAG.fullmatch(tag))
        or ("@" in text and not _DIGEST.fullmatch(digest))
    ):
        raise UsageError(f"not the name of an image: {text!r}\n  → write REPOSITORY:TAG or REPOSITORY@sha256:…")
    return ImageReference(registry=registry, repository=repository, tag=tag or "latest", digest=digest)
