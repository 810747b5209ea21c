"""Finds the dialect and the operation of a request, and checks its token."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

if TYPE_CHECKING:
    from demeanor.gateway.dialects.dialect import Dialect, Route

_FORWARDED = ("alt", "$alt", "api-version", "beta")


@dataclass(frozen=True, kw_only=True, slots=True)
class RouteMatch:
    """A request that matches a route of a dialect."""

    dialect: Dialect
    """The dialect."""

    route: Route
    """The operation."""

    authorized: bool
    """Whether the session's token was presented in one of the places that the dialect uses for keys."""


def split_prefix(path: str) -> tuple[str, str]:
    """Split `/t/<id>/rest` into the session id and `/rest`; the id is empty if the path has no session prefix."""
    if not path.startswith("/t/"):
        return "", path
    session, slash, rest = path[3:].partition("/")
    return session, slash + rest or "/"


def match_route(
    dialects: Iterable[Dialect],
    method: str,
    path: str,
    *,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    token: str,
) -> RouteMatch | None:
    """The dialect that matches; if several do (model lists), the one whose token is right."""
    match: RouteMatch | None = None
    for dialect in dialects:
        route = dialect.route(method, path, query)
        if route is None:
            continue
        presented = dialect.token(headers, query) or ""
        authorized = hmac.compare_digest(presented.encode(), token.encode())
        if authorized:
            return RouteMatch(dialect=dialect, route=route, authorized=True)
        match = match or RouteMatch(dialect=dialect, route=route, authorized=False)
    return match


def forward_path(path: str, query: str, token: str) -> str:
    """Path and query to forward to a provider: only what changes the format of the response. A key of the agent's own
    would be refused as if the provider's key were wrong."""
    pairs = parse_qsl(query, keep_blank_values=True)
    query = urlencode([(name, value) for name, value in pairs if name in _FORWARDED and value != token])
    return f"{path}?{query}" if query else path
