"""Gets an image: from a registry, from a folder in the OCI layout, or from the archive of a root file system."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import http.client
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.values.errors import UsageError
from demeanor.plugins.harbor.images.cache import CachedImage, ImageCache, step_key
from demeanor.plugins.harbor.images.layer import apply_layer
from demeanor.plugins.harbor.images.manifest import (
    INDEX_TYPES,
    MANIFEST_TYPES,
    Blob,
    ImageManifest,
    ImageSettings,
    digest_of,
    manifest_for_this_machine,
    read_manifest,
    read_settings,
)
from demeanor.plugins.harbor.images.reference import DEFAULT_REGISTRY, ImageReference, parse_reference
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


# A client of image registries (the OCI distribution protocol): manifests and blobs, with tokens.

_TIMEOUT = 30.0
_PIECE = 2**18
_MAX_DOCUMENT = 2**23
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')
_CREDENTIALS = {DEFAULT_REGISTRY: "https://index.docker.io/v1/"}


class Registry:
    """The registry of one image."""

    def __init__(self, reference: ImageReference, environ: Mapping[str, str]) -> None:
        self._reference = reference
        self._login = _login(reference.registry, environ)
        self._token = ""

    def document(self, target: str) -> bytes:
        """A manifest or an index, by tag or digest."""
        accept = ", ".join((*INDEX_TYPES, *MANIFEST_TYPES))
        with self._open(f"manifests/{target}", {"Accept": accept}) as answer:
            content = answer.read(_MAX_DOCUMENT + 1)
        if len(content) > _MAX_DOCUMENT:
            raise UsageError(f"{self._reference}: its manifest is larger than {_MAX_DOCUMENT} bytes")
        return bytes(content)

    def blob(self, digest: str) -> Iterator[bytes]:
        """The content of a blob, in pieces. It is not verified here."""
        with self._open(f"blobs/{digest}", {}) as answer:
            try:
                while piece := answer.read(_PIECE):
                    yield piece
            except (OSError, http.client.HTTPException) as error:
                raise UsageError(
                    f"{self._reference}: the download of {digest} was cut off: {error}\n"
                    "  → try again; complete layers are kept"
                ) from None

    def _open(self, path: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        url = f"{self._reference.api}/{self._reference.repository}/{path}"
        try:
            return self._request(url, headers, self._authorization())
        except urllib.error.HTTPError as error:
            challenge = error.headers.get("WWW-Authenticate", "")
            error.close()
            if error.code != http.HTTPStatus.UNAUTHORIZED or self._token:
                raise self._failure(error.code) from None
            self._token = self._new_token(challenge)
        try:
            return self._request(url, headers, self._authorization())
        except urllib.error.HTTPError as error:
            error.close()
            raise self._failure(error.code) from None

    def _request(self, url: str, headers: Mapping[str, str], authorization: str) -> http.client.HTTPResponse:
        request = urllib.request.Request(url, headers=dict(headers))  # noqa: S310 - http and https only
        if authorization:
            request.add_unredirected_header("Authorization", authorization)  # a redirect leads to another server
        try:
            answer: http.client.HTTPResponse = urllib.request.urlopen(request, timeout=_TIMEOUT)  # noqa: S310
        except urllib.error.HTTPError:
            raise
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise UsageError(
                f"{self._reference}: the registry {self._reference.registry} can't be reached: {reason}\n"
                "  → check the network, or import the image: demeanor harbor images import FOLDER NAME"
            ) from None
        return answer

    def _authorization(self) -> str:
        if self._token:
            return f"Bearer {self._token}"
        return f"Basic {self._login}" if self._login else ""

    def _new_token(self, challenge: str) -> str:
        """A token for reading, from the server that the registry names."""
        values = dict(_CHALLENGE.findall(challenge))
        realm = values.pop("realm", "")
        if not challenge.lower().startswith("bearer") or not realm.startswith(
            ("https://", "http://127.", "http://localhost")
        ):
            raise self._failure(http.HTTPStatus.UNAUTHORIZED)
        query = {"scope": f"repository:{self._reference.repository}:pull", **values}
        basic = f"Basic {self._login}" if self._login else ""
        try:
            with self._request(f"{realm}?{urllib.parse.urlencode(query)}", {}, basic) as answer:
                data = json.loads(answer.read(_MAX_DOCUMENT))
        except urllib.error.HTTPError as error:
            error.close()
            raise self._failure(error.code) from None
        except ValueError:
            data = {}
        token = data.get("token") or data.get("access_token") if isinstance(data, dict) else None
        if not isinstance(token, str):
            raise self._failure(http.HTTPStatus.UNAUTHORIZED)
        return token

    def _failure(self, status: int) -> UsageError:
        name, registry = self._reference, self._reference.registry
        if status == http.HTTPStatus.NOT_FOUND:
            return UsageError(f"{name}: there is no such image in the registry {registry}\n  → check its name and tag")
        if status in (http.HTTPStatus.UNAUTHORIZED, http.HTTPStatus.FORBIDDEN):
            return UsageError(
                f"{name}: the registry {registry} refuses access (HTTP {status})\n"
                "  → check the name; for a private image, log in with `docker login` or `podman login`"
            )
        if status == http.HTTPStatus.TOO_MANY_REQUESTS:
            return UsageError(
                f"{name}: the registry {registry} limits the rate of downloads (HTTP 429)\n"
                "  → log in with `docker login` or `podman login`, or try again later"
            )
        return UsageError(f"{name}: the registry {registry} answered with HTTP {status}")


def _login(registry: str, environ: Mapping[str, str]) -> str:
    """The credentials that Docker or podman have stored for a registry, base64-encoded; empty if there are none."""
    home = Path(environ.get("HOME") or "/")
    runtime = environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
    files = (
        Path(environ.get("REGISTRY_AUTH_FILE") or "/nonexistent"),
        Path(runtime, "containers/auth.json"),
        Path(environ.get("DOCKER_CONFIG") or home / ".docker", "config.json"),
    )
    for file in files:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stored = json.loads(file.read_bytes()).get("auths", {})
            for name in (registry, _CREDENTIALS.get(registry, registry), f"https://{registry}"):
                auth = stored.get(name, {}).get("auth")
                if isinstance(auth, str) and base64.b64decode(auth, validate=True):
                    return auth
    return ""
