"""Serves HTTP to hostile clients: limits connections, counts requests that are not HTTP, prints nothing."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from aiohttp import web

from demeanor.core.trees.open_files import REMEDY, note_shortage, out_of_files

if TYPE_CHECKING:
    import socket

_MAX_HEADER_BYTES = 64 * 1024
_NOT_HTTP = "UNKNOWN"
"""The method that aiohttp gives to a request that is not valid HTTP."""


class Connections(Protocol):
    """What a listener counts: a session has its own, the sessions of a shared socket have one together."""

    malformed: int
    connections_refused: int

    @property
    def most_connections(self) -> int:
        """How many connections may be open at once."""


class _Server(web.Server):
    """A server that closes connections beyond its limit."""

    def __init__(self, handle: Any, counts: Connections) -> None:
        # aiohttp reports broken requests and responses with a traceback each; exchanges record what matters of them
        silent = logging.Logger("demeanor.gateway", level=logging.CRITICAL + 1)
        super().__init__(
            handle,
            request_factory=self._request,
            handler_cancellation=True,
            access_log=None,
            logger=silent,
            max_line_size=_MAX_HEADER_BYTES,
            max_field_size=_MAX_HEADER_BYTES,
        )
        self._counts = counts
        self._open: set[Any] = set()

    def __call__(self) -> Any:
        if len(self._open) >= self._counts.most_connections:
            self._counts.connections_refused += 1
            return _Refused()
        handler = super().__call__()
        self._open.add(handler)  # not when it is connected: many connections are accepted before that
        return handler

    def connection_lost(self, handler: Any, exc: BaseException | None = None) -> None:
        self._open.discard(handler)
        super().connection_lost(handler, exc)

    async def shutdown(self, timeout: float | None = None) -> None:  # noqa: ASYNC109 - as aiohttp calls it
        """Close all connections. Then forget the session: they refer to one another and to this server for a while."""
        await super().shutdown(timeout)
        self.request_handler = _refuse
        self._counts = _NO_SESSION

    def _request(self, message: Any, payload: Any, protocol: Any, writer: Any, task: Any) -> web.BaseRequest:
        if message.method == _NOT_HTTP:
            self._counts.malformed += 1
        return web.BaseRequest(message, payload, protocol, writer, task, asyncio.get_running_loop())


async def _refuse(_: web.BaseRequest) -> web.StreamResponse:
    return web.Response(status=503)


@dataclass(slots=True)
class _NoSession:
    """Counts of a server that was shut down."""

    malformed: int = 0
    connections_refused: int = 0
    most_connections: int = 0


_NO_SESSION = _NoSession()


class _Refused(asyncio.Protocol):
    """A connection that is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.abort()  # type: ignore[attr-defined] # a stream's transport has it


async def listen(
    sock: socket.socket, handle: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]], counts: Connections
) -> web.ServerRunner:
    """Serve a listening socket; a request is cancelled when its client disconnects."""
    runner = web.ServerRunner(_Server(handle, counts), shutdown_timeout=0.5)
    await runner.setup()
    await web.SockSite(runner, sock).start()
    report_missing_descriptors(asyncio.get_running_loop())
    return runner


def report_missing_descriptors(loop: asyncio.AbstractEventLoop) -> None:
    """Report in one line, once, that connections can't be accepted; by default, every attempt prints a traceback."""
    if loop.get_exception_handler() is not None:
        return
    reported = False

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal reported
        error = context.get("exception")
        if reported and isinstance(error, ValueError) and "Invalid file descriptor" in str(error):
            return  # asyncio tries to accept connections again after a second, of a listener that was closed meanwhile
        if not out_of_files(error):
            loop.default_exception_handler(context)
            return
        note_shortage("a connection to the gateway")
        if not reported:
            reported = True
            sys.stderr.write(
                f"demeanor: too many open files: the gateway can't accept connections for now ({REMEDY})\n"
            )

    loop.set_exception_handler(handle)
