"""Rate limits of a provider, shared by all trials."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext

_MINUTE = 60.0
_MAX_PAUSE = 120.0
"""Longest Retry-After, in seconds, that the gateway itself waits for; the agent receives the full value."""


class RateLimiter:
    """Lets requests through one by one, in the order of their arrival."""

    def __init__(
        self,
        *,
        concurrency: int | None = None,
        per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """At most `concurrency` requests at once and `per_minute` in any minute; None means unlimited."""
        self.concurrency = concurrency
        self.per_minute = per_minute
        self._slots = asyncio.Semaphore(concurrency) if concurrency else nullcontext()
        self._clock = clock
        self._sleep = sleep
        self._lock = asyncio.Lock()
        self._started: deque[float] = deque(maxlen=per_minute)
        self._not_before = 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for a slot and hold it until the end of the block."""
        async with self._slots:
            if self.per_minute or self._not_before:
                async with self._lock:
                    while (seconds := self._wait_seconds()) > 0:
                        await self._sleep(seconds)
                    self._started.append(self._clock())
            yield

    def pause(self, seconds: float) -> None:
        """Hold back all requests for a while, because the provider asked for it."""
        self._not_before = max(self._not_before, self._clock() + min(seconds, _MAX_PAUSE))

    def _wait_seconds(self) -> float:
        until = self._not_before
        if self.per_minute and len(self._started) == self.per_minute:
            until = max(until, self._started[0] + _MINUTE)
        return until - self._clock()
