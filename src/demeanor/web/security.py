"""Who may ask, and what a browser may do with an answer.

The pages show hostile text, so a strict content security policy stands behind the escaping. Requests with the name of
another host are refused, because a malicious page can let its own name point to this machine (DNS rebinding). An IP
address in the Host header is safe from that. Beyond this machine, a token is required.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Iterable, Mapping
from hashlib import sha256
from typing import TypeAlias

from aiohttp import web

COOKIE = "demeanor"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self';"
    " base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}
"""The headers of every answer."""

_WELCOME = (
    '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>Demeanor</title>'
    '<link rel="icon" href="/static/icon.svg"><meta http-equiv="refresh" content="0;url=/">'
    '<p><a href="/">Open the dashboard</a></p></html>'
)
_NO_TOKEN = "A token is required: open the link that `demeanor serve` printed.\n"  # noqa: S105 - a sentence
_Handler: TypeAlias = Callable[[web.Request], Awaitable[web.StreamResponse]]


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_allowed(header: str | None, names: Iterable[str] = ()) -> bool:
    """Whether the Host header names this machine: an IP address, `localhost`, its host name, or one of `names`."""
    host, _, after = (header or "").strip().lower().rpartition(":")
    if not host or not after.isdecimal():  # without a port
        host = (header or "").strip().lower()
    if host.startswith("["):
        host = host.strip("[]")
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host in {"localhost", socket.gethostname().lower(), *(name.lower() for name in names)}
    return True


def guard(*, token: str | None, names: Iterable[str] = ()) -> Callable[..., Awaitable[web.StreamResponse]]:
    """The middleware that refuses foreign hosts and, if a token is given, requests without it."""
    allowed = tuple(names)

    @web.middleware
    async def check(request: web.Request, handler: _Handler) -> web.StreamResponse:
        if not host_allowed(request.headers.get("Host"), allowed):
            return _refusal(421, f"This server does not answer for {request.headers.get('Host')!r}.\n")
        query_token = request.query.get("token")
        if token is not None and query_token is not None and hmac.compare_digest(query_token.encode(), token.encode()):
            return _welcome(token)  # also with the cookie: the token must not stay in the address bar
        if token is not None and not _knows(request, token):
            return _refusal(401, _NO_TOKEN)
        return await handler(request)

    return check


def headers_of(own: Mapping[str, str]) -> Callable[[web.Request, web.StreamResponse], Awaitable[None]]:
    """Adds the headers to every answer, also to errors and streams; `own` ones go first."""

    async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
        for name, value in {**HEADERS, **own}.items():
            response.headers.setdefault(name, value)

    return add_headers


def same_origin(request: web.Request) -> bool:
    """Whether a form was sent by one of our own pages."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    return (site in {None, "same-origin"}) and origin == f"{request.scheme}://{request.headers.get('Host')}"


def _session(token: str) -> str:
    return sha256(f"demeanor session {token}".encode()).hexdigest()


def _knows(request: web.Request, token: str) -> bool:
    return hmac.compare_digest(request.cookies.get(COOKIE, "").encode(), _session(token).encode())


def _welcome(token: str) -> web.Response:
    """Exchange the token for a cookie. A page instead of a redirect, which SameSite=Strict would break."""
    response = web.Response(text=_WELCOME, content_type="text/html")
    response.set_cookie(COOKIE, _session(token), httponly=True, samesite="Strict", path="/")
    return response


def _refusal(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text)
