"""A worker of the cluster, as the conductor sees it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from demeanor.runner.executors.archive import Archive
from demeanor.runner.executors.messages import RunSetup, WorkerReport, pack_message, unpack_message
from demeanor.runner.executors.worker import close_run_here, keep_run_alive, open_run_here, put_start_here

if TYPE_CHECKING:
    from distributed import Client

_OPEN_SECONDS = 180.0
_SEND_SECONDS = 600.0
_CLOSE_SECONDS = 5.0


class WorkerLost(Exception):
    """A worker does not answer any more."""


class WorkerLink:
    """A worker: what it can do, what it is doing, and whether it answers."""

    def __init__(self, client: Client, address: str, *, name: str, slots: int, resources: dict[str, int]) -> None:
        self.address = address
        self.name = name
        self.slots = slots
        self.resources = resources
        self.report = WorkerReport()
        self.clock_skew = 0.0
        """At least how many seconds its clock is ahead of ours (behind, if negative)."""
        self.busy = 0
        """The attempts that it is making for this run."""
        self.usable = False
        """Whether it is given attempts."""
        self.lost = asyncio.Event()
        self.why_lost = ""
        self.watch: asyncio.Task[None] | None = None
        self._client = client
        self._sent: set[str] = set()
        self._sending = asyncio.Lock()

    def __str__(self) -> str:
        return f"{self.name} ({self.address})" if self.name != self.address else self.address

    async def call(self, function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
        """Call one of our functions on the worker; raises WorkerLost if it does not answer in time."""
        try:
            async with asyncio.timeout(seconds):  # wait_for of Python 3.11 can lose a cancellation
                found = await self._client.run(function, *arguments, workers=[self.address])
        except TimeoutError:
            raise WorkerLost(f"did not answer within {seconds:g} seconds") from None
        except (OSError, KeyError, ValueError, ImportError, AttributeError) as error:
            raise WorkerLost(f"did not answer: {type(error).__name__}: {error}") from None
        if self.address not in found:
            raise WorkerLost("is not connected any more")
        return found[self.address]

    async def open(self, setup: RunSetup, project: Archive | None) -> None:
        """Let the worker prepare for the run; sets `report`. Raises WorkerLost."""
        packed = pack_message(setup)
        asked = time.time()
        answer = await self.call(open_run_here, packed, seconds=_OPEN_SECONDS)
        answered = time.time()
        report, _ = unpack_message(WorkerReport, answer)
        if report.needs_project and project is not None:
            seconds = _SEND_SECONDS + (setup.build.timeout if setup.build.command else 0)
            answer = await self.call(open_run_here, packed, project.packed, seconds=seconds)
            report, _ = unpack_message(WorkerReport, answer)
        self.report = report
        if report.clock > answered:
            self.clock_skew = report.clock - answered
        else:
            self.clock_skew = min(0.0, report.clock - asked)
        self._sent.clear()

    async def send_start(self, run: str, start: Archive, *, again: bool = False) -> None:
        """Send a starting state, unless the worker has it."""
        async with self._sending:
            if again or start.sha256 not in self._sent:
                await self.call(put_start_here, run, start.sha256, start.packed, seconds=_SEND_SECONDS)
                self._sent.add(start.sha256)

    async def keep_alive(self, run: str, *, seconds: float) -> bool:
        """Tell the worker that the conductor is there; False if it does not know the run."""
        return bool(await self.call(keep_run_alive, run, seconds=seconds))

    async def close(self, run: str) -> None:
        """End the run on the worker, if it answers."""
        try:
            await self.call(close_run_here, run, seconds=_CLOSE_SECONDS)
        except WorkerLost:
            return

    def lose(self, why: str) -> None:
        """Give the worker up, with everything that it is doing."""
        self.usable = False
        self.why_lost = why
        self.lost.set()
