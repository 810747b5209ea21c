"""Listening in an event loop: to what is said over a socket, with what is handed over, and to what a program prints."""

from __future__ import annotations

import asyncio
import os
import socket

from demeanor.core.bounded_output import BoundedOutput

_WORDS = 65536
_CHUNK = 65536


async def receive(line: socket.socket, timeout: float | None) -> tuple[bytes, list[int]]:  # noqa: ASYNC109 - one wait
    """The next words, and the file descriptors that came with them; no words when the other end has gone."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def hear() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(line, hear)
    try:
        await asyncio.wait_for(ready, timeout)
    except TimeoutError:
        if not ready.done() or ready.cancelled():  # both may happen at once, and what was said in time counts
            raise
    finally:
        loop.remove_reader(line)
    try:
        words, fds, _, _ = socket.recv_fds(line, _WORDS, 2)
    except OSError:
        return b"", []
    for fd in fds:
        os.set_inheritable(fd, False)
    return words, fds


class OutputReader:
    """Takes in what a program prints while it runs."""

    def __init__(self, pipes: list[int], kept: tuple[BoundedOutput, BoundedOutput]) -> None:
        self._loop = asyncio.get_running_loop()
        self._streams = dict(zip(pipes, kept, strict=True))
        for pipe in pipes:
            os.set_blocking(pipe, False)
            self._loop.add_reader(pipe, self._hear, pipe)

    def _hear(self, pipe: int) -> bool:
        """Take in what there is; whether there may be more at once."""
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(pipe)
            return False
        self._streams[pipe].add(data)
        return True

    def drain(self) -> None:
        """Take what was printed before the end, and no more: what lives on may print for ever."""
        for pipe in self._streams:
            for _ in range(64):
                if not self._hear(pipe):
                    break

    def close(self) -> None:
        """Let go."""
        for pipe in self._streams:
            self._loop.remove_reader(pipe)
            os.close(pipe)
