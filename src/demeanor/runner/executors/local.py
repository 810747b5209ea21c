"""Runs attempts on this machine, in the event loop of this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from demeanor.core.values.capture import Capture
from demeanor.core.values.executor_spec import Slots
from demeanor.core.values.ports import Executor
from demeanor.core.values.progress import Progress
from demeanor.core.values.record import Record
from demeanor.core.values.trial import Trial


class LocalExecutor:
    """Runs attempts on this machine."""

    notes: tuple[str, ...] = ()

    def __init__(self, *, slots: int, attempt: Callable[[Trial, int], Awaitable[Capture]]) -> None:
        """At most `slots` attempts run at once; `attempt` makes one attempt at a trial."""
        self.slots = slots
        self._attempt = attempt
        self._free = asyncio.Semaphore(slots)

    async def start(self, abort: Callable[[str], None], watch: Callable[[Progress], None] = lambda news: None) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Nothing to stop."""

    def continue_from(self, records: Iterable[Record], *, usd: float | None, tokens: int | None) -> None:
        """Nothing to note: the gateway counts what is spent."""

    def settle(self, record: Record) -> None:
        """Nothing to note: the gateway counts what is spent."""

    def free_slots(self) -> Slots:
        """The slots of this machine."""
        return self._free

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Run one attempt."""
        return await self._attempt(trial, attempt)


class WrappedExecutor:
    """An executor that passes everything on to another one; a base class."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner

    @property
    def slots(self) -> int:
        """The number of slots of the wrapped executor."""
        return self._inner.slots

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of the wrapped executor."""
        return self._inner.notes

    async def start(self, abort: Callable[[str], None], watch: Callable[[Progress], None] = lambda news: None) -> None:
        """Start the wrapped executor."""
        await self._inner.start(abort, watch)

    async def stop(self) -> None:
        """Stop the wrapped executor."""
        await self._inner.stop()

    def continue_from(self, records: Iterable[Record], *, usd: float | None, tokens: int | None) -> None:
        """Tell the wrapped executor."""
        self._inner.continue_from(records, usd=usd, tokens=tokens)

    def settle(self, record: Record) -> None:
        """Tell the wrapped executor."""
        self._inner.settle(record)

    def free_slots(self) -> Slots:
        """The slots of the wrapped executor."""
        return self._inner.free_slots()

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Run one attempt."""
        return await self._inner.run_attempt(trial, attempt)


class SharedExecutor(WrappedExecutor):
    """Runs attempts on an executor whose slots several runs share, first come first served, so that their trials
    interleave and none of them runs at a better time than the others."""

    def __init__(self, inner: Executor, shared_slots: asyncio.Semaphore) -> None:
        super().__init__(inner)
        self._slots = shared_slots

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Wait for a slot, then run one attempt."""
        async with self._slots:
            return await self._inner.run_attempt(trial, attempt)
