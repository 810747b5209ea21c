"""Turns: who gets the next slot where many requests wait.

An agent may open as many requests as it likes. So the next slot goes to the trial that holds the fewest, and of
several to the one whose last turn is the longest ago: what a trial waits for is one request of each other trial.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """What waits for a slot, by its owner; knows nothing of event loops and threads."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[T]] = {}  # the owner whose last turn is the longest ago comes first

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, owner: str, item: T) -> None:
        """Let something wait."""
        self._waiting.setdefault(owner, deque()).append(item)

    def discard(self, owner: str, item: T) -> None:
        """Let something wait no longer, if it does."""
        own = self._waiting.get(owner, deque())
        if item in own:
            own.remove(item)
        if not own:
            self._waiting.pop(owner, None)

    def take(self) -> tuple[str, T]:
        """What comes next, with its owner, who then holds one slot more, until `release`."""
        owner = min(self._waiting, key=lambda name: self._held[name])
        own = self._waiting.pop(owner)
        item = own.popleft()
        if own:
            self._waiting[owner] = own
        self._held[owner] += 1
        return owner, item

    def release(self, owner: str) -> None:
        """Note that an owner holds one slot less; it comes after all others that wait."""
        if owner in self._waiting:
            self._waiting[owner] = self._waiting.pop(owner)
        self._held[owner] -= 1
        if not self._held[owner]:
            del self._held[owner]


class Turns:
    """Slots of one event loop, which are given in turns."""

    def __init__(self, slots: int) -> None:
        self._free = slots
        self._queue: FairQueue[asyncio.Future[None]] = FairQueue()

    @asynccontextmanager
    async def turn(self, owner: str) -> AsyncIterator[None]:
        """Wait for a slot, and hold it until the end of the block."""
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.add(owner, granted)
        self._grant()
        try:
            await granted
        except asyncio.CancelledError:
            if granted.cancelled():
                self._queue.discard(owner, granted)
            else:  # it was granted at the same moment
                self._release(owner)
            raise
        try:
            yield
        finally:
            self._release(owner)

    def _grant(self) -> None:
        while self._free and self._queue:
            owner, granted = self._queue.take()
            if granted.cancelled():
                self._queue.release(owner)
            else:
                self._free -= 1
                granted.set_result(None)

    def _release(self, owner: str) -> None:
        self._queue.release(owner)
        self._free += 1
        self._grant()
