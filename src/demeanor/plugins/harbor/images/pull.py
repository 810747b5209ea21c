"""Gets an image: from a registry, from a folder in the OCI layout, or from the archive of a root file system."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.values.errors import UsageError
from demeanor.plugins.harbor.images.cache import CachedImage, ImageCache, step_key
from demeanor.plugins.harbor.images.layer import apply_layer
from demeanor.plugins.harbor.images.manifest import (
    Blob,
    ImageManifest,
    ImageSettings,
    digest_of,
    manifest_for_this_machine,
    read_manifest,
    read_settings,
)
from demeanor.plugins.harbor.images.reference import ImageReference, parse_reference
from demeanor.plugins.harbor.images.registry import Registry
from demeanor.plugins.harbor.images.tar_stream import MAX_BYTES, Allowance

_INCOMPLETE = "\n  → the folder is damaged or incomplete: write it again"
_MAX_SETTINGS = 2**23
_MAX_LAYERS = 1000
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, kw_only=True, slots=True)
class PullProgress:
    """How far the download of an image is."""

    name: str
    """The image."""

    done: int
    """How many bytes were downloaded."""

    total: int
    """How many bytes are to be downloaded: the layers that are not in the cache."""


ShowProgress = Callable[[PullProgress], None]


def pull(name: str, cache: ImageCache, environ: Mapping[str, str], show: ShowProgress) -> CachedImage:
    """Download an image and unpack it. What is in the cache already is not downloaded again."""
    reference = parse_reference(name)
    registry = Registry(reference, environ)
    content = registry.document(reference.target)
    _check_digest(content, reference.digest, reference)
    if own := manifest_for_this_machine(content, str(reference)):
        content = registry.document(own)
        _check_digest(content, own, reference)
    manifest = read_manifest(content, str(reference))
    return _unpack(str(reference), manifest, cache, lambda blob: registry.blob(blob.digest), show)


def import_layout(folder: Path, name: str, cache: ImageCache) -> CachedImage:
    """Take an image from a folder in the OCI image layout, as written by `skopeo copy docker://NAME oci:FOLDER`."""
    reference = parse_reference(name)
    try:
        index = (folder / "index.json").read_bytes()
    except OSError as error:
        raise UsageError(
            f"{folder}: not in the OCI image layout: {error.strerror}: index.json\n"
            "  → write the folder with: skopeo copy docker://NAME oci:FOLDER"
        ) from None
    content = _layout_blob(folder, manifest_for_this_machine(index, str(folder)))
    if own := manifest_for_this_machine(content, str(folder)):
        content = _layout_blob(folder, own)
    manifest = read_manifest(content, str(folder))
    return _unpack(str(reference), manifest, cache, lambda blob: iter((_layout_blob(folder, blob.digest),)))


def import_archive(file: Path, name: str, cache: ImageCache) -> CachedImage:
    """Take a root file system from a tar archive, as written by `docker export` or mmdebstrap."""
    reference = parse_reference(name)
    content = hashlib.sha256()
    try:
        with file.open("rb") as archive:
            while piece := archive.read(2**20):
                content.update(piece)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None
    digest = f"sha256:{content.hexdigest()}"
    key = step_key("", digest)
    if not cache.root(key):

        def fill(root: Path) -> None:
            with file.open("rb") as archive:
                apply_layer(archive, root, str(file))
            if not os.path.lexists(root / "bin"):  # a link in it is not followed
                raise UsageError(
                    f"{file}: not the archive of a root file system: it has no folder bin\n"
                    "  → write it with `docker export CONTAINER`; what `docker save` writes is an image, not its files"
                )

        cache.add_root(key, parent=None, origin=str(reference), fill=fill)
    image = CachedImage(name=str(reference), digest=digest, key=key, settings=ImageSettings(env={"PATH": _PATH}))
    cache.add_image(image)
    return image


def _check_digest(content: bytes, digest: str, reference: ImageReference) -> None:
    if digest and digest_of(content) != digest:
        raise UsageError(
            f"{reference}: the registry sent a manifest that does not match the digest {digest}\n"
            "  → try again; if it happens again, the registry or a proxy sends wrong content"
        )


def _layout_blob(folder: Path, digest: str) -> bytes:
    if not digest:
        raise UsageError(f"{folder}: its index names no image")
    try:
        content = (folder / "blobs" / "sha256" / digest.removeprefix("sha256:")).read_bytes()
    except OSError as error:
        raise UsageError(f"{folder}: {digest}: {error.strerror}{_INCOMPLETE}") from None
    if digest_of(content) != digest:
        raise UsageError(f"{folder}: the content of {digest} does not match its digest{_INCOMPLETE}")
    return content


def _unpack(
    name: str,
    manifest: ImageManifest,
    cache: ImageCache,
    read: Callable[[Blob], Iterable[bytes]],
    show: ShowProgress = lambda progress: None,
) -> CachedImage:
    """Download what is missing, apply the layers that no root in the cache has, and store the image."""
    _check_sizes(name, manifest)
    config = cache.blob(manifest.config) or cache.add_blob(manifest.config, read(manifest.config), where=name)
    settings = read_settings(config.read_bytes(), name)
    keys = [""]
    for layer in manifest.layers:
        keys.append(step_key(keys[-1], layer.digest))
    cached = max((number for number, key in enumerate(keys) if number and cache.root(key)), default=0)
    files = _layer_files(name, manifest.layers[cached:], cache, read, show)
    if cached < len(manifest.layers):

        def fill(root: Path) -> None:
            allowance = Allowance.on_disk(root)
            with ExitStack() as stack:  # opened at once: another process may prune the cache
                for archive in [stack.enter_context(file.open("rb")) for file in files]:
                    apply_layer(archive, root, name, allowance=allowance)

        cache.add_root(keys[-1], parent=keys[cached] or None, origin=name, fill=fill)
    elif not manifest.layers:
        raise UsageError(f"{name}: the image has no layers")
    image = CachedImage(name=name, digest=manifest.digest, key=keys[-1], settings=settings)
    cache.add_image(image)
    return image


def _check_sizes(name: str, manifest: ImageManifest) -> None:
    """Raise UsageError for an image whose download alone would fill a disk."""
    layers = dict.fromkeys(manifest.layers)
    size = sum(layer.size for layer in layers)
    if manifest.config.size > _MAX_SETTINGS or len(manifest.layers) > _MAX_LAYERS or size > MAX_BYTES:
        raise UsageError(
            f"{name}: the image is too large: layers={len(manifest.layers)} (at most {_MAX_LAYERS}), "
            f"download={size >> 20} MiB (at most {MAX_BYTES >> 20}), settings={manifest.config.size} bytes "
            f"(at most {_MAX_SETTINGS})\n  → use a smaller image"
        )


def _layer_files(
    name: str,
    layers: Sequence[Blob],
    cache: ImageCache,
    read: Callable[[Blob], Iterable[bytes]],
    show: ShowProgress,
) -> list[Path]:
    """The files of layers in the cache; those that are missing are downloaded."""
    blobs = {layer: cache.blob(layer) for layer in layers}
    done, total = 0, sum(layer.size for layer, file in blobs.items() if file is None)
    show(PullProgress(name=name, done=0, total=total))

    def pieces(layer: Blob) -> Iterator[bytes]:
        nonlocal done
        for piece in read(layer):
            done += len(piece)
            show(PullProgress(name=name, done=done, total=total))
            yield piece

    files = {layer: file or cache.add_blob(layer, pieces(layer), where=name) for layer, file in blobs.items()}
    return [files[layer] for layer in layers]
