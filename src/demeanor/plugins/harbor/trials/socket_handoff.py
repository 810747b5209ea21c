"""Receives the listener of a task's environment, which the gateway session then serves.

Harbor runs in its own process, and each bubblewrap environment has a private network. When the environment is up it
connects to a unix socket of this attempt, sends one byte together with its listening socket, and waits for one byte.
From then on, programs in the environment can connect to this attempt's gateway session, and to nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from demeanor.core.values.errors import WorldError
from demeanor.core.values.ports import GatewaySession
from demeanor.core.values.verdict import VoidCause

SOCKET_NAME = "gateway"
"""The name of the unix socket, relative to Harbor's working directory: its full path may be too long for a socket."""

READY = b"!"


@asynccontextmanager
async def accept_listeners(session: GatewaySession, folder: Path) -> AsyncIterator[None]:
    """Within this context, listening sockets that are sent to the unix socket in `folder` are served by the session."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    received: list[socket.socket] = []
    with server:
        try:
            _bind(server, folder)
            server.listen()
            server.setblocking(False)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"can't create a socket in {folder}: {error}") from None
        serving = asyncio.ensure_future(_serve(server, session, received))
        try:
            yield
        finally:
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            for sock in received:
                sock.close()


def _bind(server: socket.socket, folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        server.bind(f"/proc/self/fd/{handle}/{SOCKET_NAME}")
    finally:
        os.close(handle)


async def _serve(server: socket.socket, session: GatewaySession, received: list[socket.socket]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(server)
        with connection, contextlib.suppress(OSError):  # the environment has closed the connection
            await _readable(connection)
            _, fds, _, _ = socket.recv_fds(connection, 1, 1)
            for fd in fds:
                os.set_inheritable(fd, False)
                received.append(listener := socket.socket(fileno=fd))
                await session.listen(listener)
                await loop.sock_sendall(connection, READY)


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)
