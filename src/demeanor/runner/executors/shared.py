"""Several runs at once on one machine: they take turns, so that none of them sees a better hour than the others."""

from __future__ import annotations

import asyncio

from demeanor.core.capture import Capture
from demeanor.core.ports import Executor
from demeanor.core.trial import Trial


class SharedExecutor:
    """An executor whose slots are those of several; who waits longest comes first, so their trials interleave."""

    def __init__(self, inner: Executor, turns: asyncio.Semaphore) -> None:
        self._inner = inner
        self._turns = turns

    @property
    def slots(self) -> int:
        """How many attempts may wait for a turn at once."""
        return self._inner.slots

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Wait for a turn, then carry out one attempt."""
        async with self._turns:
            return await self._inner.run_attempt(trial, attempt)
