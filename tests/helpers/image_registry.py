"""A real image registry (Debian's docker-registry) on loopback, and images made of a few files to push to it."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import socket
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.trees.program_tree import program_tree

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"
_STARTS_WITHIN = 60.0


def layer(*entries: tarfile.TarInfo | tuple[str, str]) -> bytes:
    """A compressed layer; an entry is a name with content (`NAME/` is a folder), or a prepared header."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        for entry in entries:
            if isinstance(entry, tarfile.TarInfo):
                tar.addfile(entry)
                continue
            name, content = entry
            info = tarfile.TarInfo(name.rstrip("/"))
            info.mode = 0o755
            if name.endswith("/"):
                info.type = tarfile.DIRTYPE
            info.size = 0 if name.endswith("/") else len(content.encode())
            tar.addfile(info, io.BytesIO(content.encode()))
    return gzip.compress(raw.getvalue(), mtime=0)


def link(name: str, target: str, *, hard: bool = False) -> tarfile.TarInfo:
    """The header of a link."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.LNKTYPE if hard else tarfile.SYMTYPE, target
    return info


def digest(content: bytes) -> str:
    """The digest of a blob."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def manifest(layers: Sequence[bytes], config: Mapping[str, Any] | None = None) -> tuple[bytes, dict[str, bytes]]:
    """The manifest of an image, and its blobs by digest."""
    settings = json.dumps({"os": "linux", "architecture": ARCHITECTURE, "config": config or {}}).encode()
    blobs = {digest(blob): blob for blob in (settings, *layers)}
    described = [{"digest": digest(blob), "size": len(blob), "mediaType": "x/y"} for blob in layers]
    document = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {
            "digest": digest(settings),
            "size": len(settings),
            "mediaType": "application/vnd.oci.image.config.v1+json",
        },
        "layers": [{**one, "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip"} for one in described],
    }
    return json.dumps(document).encode(), blobs


def index(*manifests: tuple[bytes, str]) -> bytes:
    """An index of manifests, each with its architecture."""
    rows = [
        {
            "mediaType": MANIFEST,
            "digest": digest(content),
            "size": len(content),
            "platform": {"os": "linux", "architecture": architecture},
        }
        for content, architecture in manifests
    ]
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": rows}).encode()


def write_layout(folder: Path, content: bytes, blobs: Mapping[str, bytes]) -> Path:
    """A folder in the OCI image layout."""
    (folder / "blobs/sha256").mkdir(parents=True)
    for name, blob in {**blobs, digest(content): content}.items():
        (folder / "blobs/sha256" / name.removeprefix("sha256:")).write_bytes(blob)
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (folder / "index.json").write_bytes(index((content, ARCHITECTURE)))
    return folder


class ImageRegistry:
    """A running registry."""

    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"

    def push(self, name: str, tag: str, content: bytes, blobs: Mapping[str, bytes], kind: str = MANIFEST) -> str:
        """Push an image; returns the digest of its manifest."""
        for identity, blob in blobs.items():
            place = self._call("POST", f"{name}/blobs/uploads/").headers["Location"]
            separator = "&" if "?" in place else "?"
            self._call("PUT", f"{place}{separator}digest={identity}", blob)
        self._call("PUT", f"{name}/manifests/{tag}", content, {"Content-Type": kind})
        return digest(content)

    def _call(self, method: str, path: str, data: bytes | None = None, headers: Mapping[str, str] | None = None) -> Any:
        url = path if path.startswith("http") else f"http://{self.host}/v2/{path}"
        usual = {"Content-Type": "application/octet-stream"}
        request = urllib.request.Request(url, data, {**usual, **(headers or {})}, method=method)  # noqa: S310
        return urllib.request.urlopen(request, timeout=30)  # noqa: S310 - loopback


@contextmanager
def image_registry(folder: Path) -> Iterator[ImageRegistry]:
    """Start a registry for the duration of the block; skips the test if it is not installed."""
    program = shutil.which("docker-registry")
    if program is None:
        pytest.skip("docker-registry is not installed: run tools/system.sh docker-registry")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = folder / "registry.yml"
    settings.write_text(
        f"version: 0.1\nstorage:\n  filesystem:\n    rootdirectory: {folder}/registry\n"
        f"http:\n  addr: 127.0.0.1:{port}\nlog:\n  level: error\n"
    )
    words = [program, "serve", str(settings)]
    with (folder / "registry.log").open("wb") as log, program_tree(words, env=os.environ, stdout=log) as server:
        deadline = time.monotonic() + _STARTS_WITHIN
        while time.monotonic() < deadline and server.poll() is None:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/", timeout=5).close()
                break
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.05)
        yield ImageRegistry(port)
