"""Runs attempts on this machine, in the event loop of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from demeanor.core.capture import Capture
from demeanor.core.ports import Executor
from demeanor.core.trial import Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalExecutor:
    """Runs attempts on this machine."""

    slots: int
    """How many attempts may run at once."""

    attempt: Callable[[Trial, int], Awaitable[Capture]]
    """Makes one attempt at a trial."""

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Run one attempt."""
        return await self.attempt(trial, attempt)


class SharedExecutor:
    """Runs attempts on an executor whose slots several runs share, first come first served, so that their trials
    interleave and none of them runs at a better time than the others."""

    def __init__(self, inner: Executor, shared_slots: asyncio.Semaphore) -> None:
        self._inner = inner
        self._slots = shared_slots

    @property
    def slots(self) -> int:
        """How many attempts may wait for a slot at once."""
        return self._inner.slots

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Wait for a slot, then run one attempt."""
        async with self._slots:
            return await self._inner.run_attempt(trial, attempt)
