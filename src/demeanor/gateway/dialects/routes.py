"""Paths and keys that several dialects have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping

from demeanor.gateway.dialects.dialect import Route

_MODELS = re.compile(r"(?:/v\d+\w*)?/models(?:/[^/:]+(?:/[^/:]+)?)?")
_PROBES = frozenset({"", "/v1", "/v1beta", "/health", "/healthz", "/ping"})


def common_route(method: str, path: str) -> Route | None:
    """The list of models, and the signs of life that clients ask for before they begin."""
    bare = path.rstrip("/")
    if method == "GET" and _MODELS.fullmatch(bare):
        return Route(wish="models")
    if method in {"HEAD", "OPTIONS"} or (method == "GET" and bare in _PROBES):
        return Route(wish="probe")
    return None


def bearer(headers: Mapping[str, str]) -> str | None:
    """The key in an Authorization header."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None
