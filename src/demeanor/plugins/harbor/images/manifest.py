"""The documents that describe an image: the index of its platforms, its manifest, and its settings."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from demeanor.core.values.errors import UsageError

INDEX_TYPES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFEST_TYPES = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Blob:
    """A part of an image in the registry."""

    digest: str
    """The hash of its content, as `sha256:…`."""

    size: int
    """Its size in bytes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageManifest:
    """What an image consists of."""

    digest: str
    """The digest of the manifest itself."""

    config: Blob
    """Its settings."""

    layers: tuple[Blob, ...]
    """Its layers, the lowest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageSettings:
    """The settings of programs that run in an image."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Their environment."""

    workdir: str = "/"
    """Their working directory."""

    user: str = "root"
    """Their user."""

    entrypoint: tuple[str, ...] = ()
    """The program that is started with a container."""


def digest_of(content: bytes) -> str:
    """The digest of a document."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def manifest_for_this_machine(content: bytes, where: str) -> str:
    """The digest of this machine's manifest in an index; empty if the document is a manifest itself."""
    document = _document(content, where)
    if "manifests" not in document:
        return ""
    machine = platform.machine()
    architecture = _ARCHITECTURES.get(machine, machine)
    platforms = []
    for item in _list(document, "manifests", where):
        built_for = item.get("platform") or {"os": "linux", "architecture": architecture}
        if built_for.get("os") == "linux":
            platforms.append(str(built_for.get("architecture")))
            if built_for.get("architecture") == architecture:
                return _blob(item, where).digest
    raise UsageError(
        f"{where}: the image is not built for linux/{architecture} (only for: {', '.join(platforms) or 'none'})\n"
        "  → use an image that is built for this machine"
    )


def read_manifest(content: bytes, where: str) -> ImageManifest:
    """A manifest; raises UsageError for anything else."""
    document = _document(content, where)
    config = document.get("config")
    if not isinstance(config, dict):
        raise UsageError(f"{where}: not a manifest of an image: it has no config")
    layers = tuple(_blob(item, where) for item in _list(document, "layers", where))
    return ImageManifest(digest=digest_of(content), config=_blob(config, where), layers=layers)


def read_settings(content: bytes, where: str) -> ImageSettings:
    """The settings of an image."""
    own = _document(content, where).get("config") or {}
    pairs = (str(line).partition("=") for line in own.get("Env") or ())
    return ImageSettings(
        env={name: value for name, _, value in pairs},
        workdir=own.get("WorkingDir") or "/",
        user=own.get("User") or "root",
        entrypoint=tuple(map(str, own.get("Entrypoint") or ())),
    )


def _document(content: bytes, where: str) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise UsageError(f"{where}: expected a JSON object")
    return document


def _list(document: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    items = document.get(key)
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise UsageError(f"{where}: {key}: expected a list of objects")
    return items


def _blob(item: Mapping[str, Any], where: str) -> Blob:
    digest, size = item.get("digest"), item.get("size")
    valid = isinstance(digest, str) and len(digest) == 71 and digest.startswith("sha256:") and digest[7:].isalnum()
    if not valid or not isinstance(size, int) or size < 0:
        raise UsageError(f"{where}: expected a sha256 digest and a size, not {digest!r} and {size!r}")
    return Blob(digest=str(digest), size=size)
