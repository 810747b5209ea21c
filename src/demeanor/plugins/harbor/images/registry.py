"""A client of image registries (the OCI distribution protocol): manifests and blobs, with tokens."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

from demeanor.core.values.errors import UsageError
from demeanor.plugins.harbor.images.manifest import INDEX_TYPES, MANIFEST_TYPES
from demeanor.plugins.harbor.images.reference import DEFAULT_REGISTRY, ImageReference

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
