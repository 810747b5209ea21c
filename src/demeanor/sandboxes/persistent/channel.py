"""Receiving from a socket or from a program's pipes in an event loop."""

from __future__ import annotations

import asyncio
import os
import socket

from demeanor.core.text.bounded_output import BoundedOutput

_SIZE = 65536


async def receive(channel: socket.socket, timeout: float | None) -> tuple[bytes, list[int]]:  # noqa: ASYNC109 - one wait
    """Receive the next message with its file descriptors; empty when the other end has closed the socket."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def on_readable() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(channel, on_readable)
    try:
        await asyncio.wait_for(ready, timeout)
    except TimeoutError:
        if not ready.done() or ready.cancelled():  # both may happen at once; a message in time counts
            raise
    finally:
        loop.remove_reader(channel)
    try:
        message, fds, _, _ = socket.recv_fds(channel, _SIZE, 2)
    except OSError:
        return b"", []
    for fd in fds:
        os.set_inheritable(fd, False)
    return message, fds


class OutputReader:
    """Reads the output of a program while it runs."""

    def __init__(self, pipes: list[int], outputs: tuple[BoundedOutput, BoundedOutput]) -> None:
        self._loop = asyncio.get_running_loop()
        self._outputs = dict(zip(pipes, outputs, strict=True))
        for pipe in pipes:
            os.set_blocking(pipe, False)
            self._loop.add_reader(pipe, self._read, pipe)

    def _read(self, pipe: int) -> bool:
        """Read what is available; whether there may be more."""
        try:
            data = os.read(pipe, _SIZE)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(pipe)
            return False
        self._outputs[pipe].add(data)
        return True

    def drain(self) -> None:
        """Read what is in the pipes, without waiting for their end: processes that live on may print for ever."""
        for pipe in self._outputs:
            for _ in range(64):
                if not self._read(pipe):
                    break

    def close(self) -> None:
        """Close the pipes."""
        for pipe in self._outputs:
            self._loop.remove_reader(pipe)
            os.close(pipe)
