"""How fast a provider may be asked, by all trials together."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext

_MINUTE = 60.0
_LONGEST_HOLD = 120.0
"""Seconds for which a provider's Retry-After is waited out here; the agent is told the whole of it."""


class RateLimiter:
    """Lets requests through one by one, in the order in which they came."""

    def __init__(
        self,
        *,
        concurrency: int | None = None,
        per_minute: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """At most `concurrency` at once and `per_minute` within any minute; None means no such limit."""
        self._slots = asyncio.Semaphore(concurrency) if concurrency else nullcontext()
        self._per_minute = per_minute
        self._clock = clock
        self._sleep = sleep
        self._door = asyncio.Lock()
        self._started: deque[float] = deque(maxlen=per_minute)
        self._not_before = 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Wait for one's turn, and hold a place until the end of the block."""
        async with self._slots:
            if self._per_minute or self._not_before:
                async with self._door:
                    while (pause := self._pause()) > 0:
                        await self._sleep(pause)
                    self._started.append(self._clock())
            yield

    def hold(self, seconds: float) -> None:
        """Let nobody through for a while, because the provider asked for that."""
        self._not_before = max(self._not_before, self._clock() + min(seconds, _LONGEST_HOLD))

    def _pause(self) -> float:
        until = self._not_before
        if self._per_minute and len(self._started) == self._per_minute:
            until = max(until, self._started[0] + _MINUTE)
        return until - self._clock()
