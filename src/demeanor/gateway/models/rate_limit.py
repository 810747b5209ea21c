"""Rate limits of a provider, shared by all trials."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from demeanor.gateway.models.turns import Turns

_MINUTE = 60.0
_MAX_PAUSE = 120.0
"""Longest Retry-After, in seconds, that the gateway itself waits for; the agent receives the full value."""


class RateLimiter:
    """Lets requests through one by one; the trials that they belong to take turns."""

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
        self._slots = Turns(concurrency) if concurrency else None
        self._clock = clock
        self._sleep = sleep
        self._pace = Turns(1)
        self._started: deque[float] = deque(maxlen=per_minute)
        self._not_before = 0.0

    @asynccontextmanager
    async def slot(self, owner: str) -> AsyncIterator[None]:
        """Wait for a slot and hold it until the end of the block; `owner` is the trial."""
        async with AsyncExitStack() as stack:
            if self._slots is not None:
                await stack.enter_async_context(self._slots.turn(owner))
            if self.per_minute or self._not_before:
                async with self._pace.turn(owner):
                    await self._wait()
                    self._started.append(self._clock())
            yield

    def pause(self, seconds: float) -> None:
        """Hold back all requests for a while, because the provider asked for it."""
        self._not_before = max(self._not_before, self._clock() + min(seconds, _MAX_PAUSE))

    async def _wait(self) -> None:
        while (seconds := self._wait_seconds()) > 0:
            await self._sleep(seconds)

    def _wait_seconds(self) -> float:
        until = self._not_before
        if self.per_minute and len(self._started) == self.per_minute:
            until = max(until, self._started[0] + _MINUTE)
        return until - self._clock()
