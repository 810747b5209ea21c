"""Handing the gateway into a task's environment: a socket that listens in there comes to us, and is served from here.

Harbor runs in a process of its own, and each environment of ours has a network of its own. When the environment is up
it connects to a Unix socket of this attempt, sends one byte together with its listening socket, and waits for one byte:
from then on whoever connects in there reaches this attempt's gateway session, and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.ports import GatewaySession
from demeanor.core.verdict import VoidCause

DOOR = "gateway"
"""What the socket is called. The way to it may be longer than a socket's address may be, so it is named from where
Harbor runs."""

READY = b"!"


@asynccontextmanager
async def handing_over(session: GatewaySession, folder: Path) -> AsyncIterator[None]:
    """While this is entered, listening sockets that are sent to the door in `folder` are served by the session."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    taken: list[socket.socket] = []
    with listener:
        try:
            _bind(listener, folder)
            listener.listen()
            listener.setblocking(False)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"{folder}: no socket can be made here: {error}") from None
        serving = asyncio.ensure_future(_serve(listener, session, taken))
        try:
            yield
        finally:
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            for sock in taken:
                sock.close()


def _bind(listener: socket.socket, folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        listener.bind(f"/proc/self/fd/{handle}/{DOOR}")
    finally:
        os.close(handle)


async def _serve(listener: socket.socket, session: GatewaySession, taken: list[socket.socket]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(listener)
        with connection, contextlib.suppress(OSError):  # an environment that went away again
            await _readable(connection)
            _, fds, _, _ = socket.recv_fds(connection, 1, 1)
            for fd in fds:
                os.set_inheritable(fd, False)
                taken.append(door := socket.socket(fileno=fd))
                await session.listen(door)
                await loop.sock_sendall(connection, READY)


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)
