"""The attempts that a worker makes for one run, and their replies, which are kept until the conductor has them."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from functools import partial
from typing import Any


class AttemptQueue:
    """Attempts in progress, and replies that are ready. It belongs to one event loop."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[bytes]] = set()
        self._ready: dict[str, bytes] = {}
        self._sent: dict[str, bytes] = {}
        self._changed = asyncio.Event()

    def begin(self, nonce: str, attempt: Coroutine[Any, Any, bytes]) -> None:
        """Start an attempt; its result is the reply. A cancelled attempt has none."""
        task = asyncio.ensure_future(attempt)
        self._tasks.add(task)
        task.add_done_callback(partial(self._ended, nonce))

    async def replies(
        self, received: Iterable[str], hold: float, *, again: bool = False
    ) -> tuple[tuple[str, bytes], ...]:
        """The replies that were not sent yet, by nonce; waits up to `hold` seconds for the first one.

        `received` are the nonces of replies that have arrived; `again` asks for all others again.
        """
        for nonce in received:
            self._sent.pop(nonce, None)
        if again:
            self._ready, self._sent = {**self._sent, **self._ready}, {}
        with suppress(TimeoutError):
            async with asyncio.timeout(hold):
                while not self._ready:
                    self._changed.clear()
                    await self._changed.wait()
        ready, self._ready = self._ready, {}
        self._sent.update(ready)
        return tuple(ready.items())

    def _ended(self, nonce: str, task: asyncio.Task[bytes]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            self._ready[nonce] = task.result()
            self._changed.set()
