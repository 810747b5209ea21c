"""A semaphore whose size can change: the number of attempts that a cluster can make in parallel."""

from __future__ import annotations

import asyncio
from collections import deque


class Places:
    """Places in which attempts can run; first come, first served."""

    def __init__(self, total: int = 0) -> None:
        self.total = total
        self.taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def resize(self, total: int) -> None:
        """Change the number of places; those that are taken stay so."""
        self.total = total
        self._wake()

    async def acquire(self) -> None:
        """Wait for a place."""
        if self.taken < self.total and not self._waiting:
            self.taken += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give the place back."""
        self.taken -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self.taken < self.total:
            turn = self._waiting.popleft()
            if not turn.done():
                self.taken += 1
                turn.set_result(None)
