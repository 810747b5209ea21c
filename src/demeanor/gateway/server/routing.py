"""Which dialect a request speaks, what it wants, and whether it may."""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode

if TYPE_CHECKING:
    from demeanor.gateway.dialects.dialect import Dialect, Route


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """A request that a dialect understands."""

    dialect: Dialect
    """The dialect."""

    route: Route
    """What is wanted."""

    admitted: bool
    """Whether the session's token was presented in one of the dialect's places."""


def split_prefix(path: str) -> tuple[str, str]:
    """`/t/<id>/rest` as the session's id and `/rest`; an empty id where the path is none of ours."""
    if not path.startswith("/t/"):
        return "", path
    session, slash, rest = path[3:].partition("/")
    return session, slash + rest or "/"


def match(
    dialects: Iterable[Dialect],
    method: str,
    path: str,
    *,
    query: Mapping[str, str],
    headers: Mapping[str, str],
    token: str,
) -> Match | None:
    """The dialect that is spoken; where several know the path (model lists), the one that presents the token."""
    found: Match | None = None
    for dialect in dialects:
        route = dialect.route(method, path, query)
        if route is None:
            continue
        presented = dialect.token(headers, query) or ""
        admitted = hmac.compare_digest(presented.encode(), token.encode())
        if admitted:
            return Match(dialect=dialect, route=route, admitted=True)
        found = found or Match(dialect=dialect, route=route, admitted=False)
    return found


def onward(path: str, query: str, token: str) -> str:
    """Path and query as they go on to a provider: the agent's token taken out, all else as it was."""
    if token in query:
        kept = [(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if value != token]
        query = urlencode(kept)
    return f"{path}?{query}" if query else path
