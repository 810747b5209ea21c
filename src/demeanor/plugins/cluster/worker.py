"""The functions that Dask calls on a worker, by name; no code is sent to it. They return single values in msgpack.

Attempts run in an event loop of their own, in a thread that lives as long as the worker, so that they don't delay the
worker's heartbeats. A run whose conductor has not been heard of for a while is closed: its attempts end with all their
processes.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any, TypeVar

from demeanor.plugins.cluster.client import declared_slots
from demeanor.plugins.cluster.messages import (
    SMALL,
    AttemptReply,
    AttemptRequest,
    RunSetup,
    WorkerReport,
    pack_message,
    pack_replies,
    unpack_message,
)
from demeanor.plugins.cluster.worker_run import WorkerRun, open_run

T = TypeVar("T")

LEASE = 60.0
"""Seconds without a sign of the conductor after which a run is closed."""


class WorkerRuntime:
    """The runs of this worker, and the event loop in which they take place."""

    def __init__(self) -> None:
        self.runs: dict[str, WorkerRun] = {}
        self._queues: dict[str, AttemptQueue] = {}
        self._slots: asyncio.Semaphore | None = None
        self.loop = asyncio.new_event_loop()
        """Runs belong to it."""
        self._opening = ThreadPoolExecutor(1, thread_name_prefix="demeanor-open")  # its thread starts fork servers
        threading.Thread(target=self.loop.run_forever, name="demeanor-worker", daemon=True).start()
        self.submit(self._watch_conductors())

    def submit(self, work: Coroutine[Any, Any, T]) -> asyncio.Future[T]:
        """Run a coroutine in the event loop; the result as a future for the calling event loop, or a thread's."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)  # type: ignore[return-value]

    async def open(self, setup: RunSetup, project: bytes | None, worker: Any = None) -> WorkerReport:
        """Prepare for the attempts of a run; `worker` is Dask's."""
        if setup.run in self.runs:
            await self.close(setup.run)
        report, run = await self.loop.run_in_executor(self._opening, open_run, setup, os.environ, project)
        if run is not None:
            if worker is not None:
                run.share_limits(worker)
                self._slots = self._slots or asyncio.Semaphore(declared_slots(worker.state))
            await run.start()
            self.runs[setup.run] = run
            self._queues[setup.run] = AttemptQueue()
        return report

    async def exchange(
        self, run: str, packed: bytes | None, received: tuple[str, ...], hold: float, again: bool
    ) -> tuple[tuple[str, bytes], ...] | None:
        """Start an attempt, if there is one, and wait for replies; None if the run is unknown.

        The conductor calls this for each attempt, and then as long as one is in progress.
        """
        worker_run = self.runs.get(run)
        if worker_run is None:
            return None
        worker_run.last_sign = time.monotonic()
        queue = self._queues[run]
        if packed is not None:
            request, _ = unpack_message(AttemptRequest, packed)
            queue.begin(request.nonce, self._attempt(worker_run, request))
        return await queue.replies(received, hold, again=again)

    async def _attempt(self, run: WorkerRun, request: AttemptRequest) -> bytes:
        """Make an attempt; the reply says so if something has to be sent first, or if it failed."""
        trial = f"{request.eval}/{request.subject}/{request.number}"
        empty = AttemptReply(nonce=request.nonce, trial=trial, attempt=request.attempt, status="needs start")
        if not run.has_start(request.start):
            return pack_message(empty)
        try:
            async with self._slots or nullcontext():  # other runs use the same slots
                reply, body = await run.attempt(request)
            return (
                pack_message(reply, body) if len(body) <= SMALL else await asyncio.to_thread(pack_message, reply, body)
            )
        except Exception as error:  # noqa: BLE001 - whatever broke, the conductor has to know
            return pack_message(replace(empty, status="failed", problem=f"{type(error).__name__}: {error}"))

    async def put_start(self, run: str, sha256: str, packed: bytes) -> None:
        """Unpack a starting state."""
        if run in self.runs:
            await self.runs[run].put_start(sha256, packed)

    async def keep_alive(self, run: str) -> bool:
        """Note that the conductor is there; False if the run is unknown."""
        if run in self.runs:
            self.runs[run].last_sign = time.monotonic()
        return run in self.runs

    async def attempt_seconds(self, run: str, nonce: str) -> float | None:
        """How long an attempt has been running; None if it is not."""
        running = self.runs[run].running.get(nonce) if run in self.runs else None
        return None if running is None else time.monotonic() - running.started

    async def cancel(self, run: str, nonces: tuple[str, ...] | None) -> None:
        """End some attempts, or all attempts of a run."""
        if run in self.runs:
            await self.runs[run].cancel(tuple(self.runs[run].running) if nonces is None else nonces)

    async def close(self, run: str) -> None:
        """End a run."""
        worker_run = self.runs.pop(run, None)
        self._queues.pop(run, None)
        if worker_run is not None:
            await worker_run.close()

    async def _watch_conductors(self) -> None:
        while True:
            await asyncio.sleep(LEASE / 12)
            late = [name for name, run in self.runs.items() if time.monotonic() - run.last_sign > LEASE]
            for name in late:
                await self.close(name)


@cache
def _runtime() -> WorkerRuntime:
    return WorkerRuntime()


_first_call = threading.Lock()


def _the_runtime() -> WorkerRuntime:
    with _first_call:
        return _runtime()


async def _elsewhere(work: Coroutine[Any, Any, T]) -> T:
    """Await a coroutine in the event loop of the runtime, from Dask's event loop."""
    return await asyncio.wrap_future(_the_runtime().submit(work))


async def open_run_here(setup: bytes, project: bytes | None = None, dask_worker: Any = None) -> bytes:
    """Prepare for the attempts of a run; returns a WorkerReport. Dask passes its own worker."""
    decoded, _ = unpack_message(RunSetup, setup)
    return pack_message(await _elsewhere(_the_runtime().open(decoded, project, dask_worker)))


async def put_start_here(run: str, sha256: str, packed: bytes) -> None:
    """Receive a starting state."""
    await _elsewhere(_the_runtime().put_start(run, sha256, packed))


async def keep_run_alive(run: str) -> bool:
    """Receive a sign of the conductor."""
    return await _elsewhere(_the_runtime().keep_alive(run))


async def seconds_of_attempt(run: str, nonce: str) -> float | None:
    """How long an attempt has been running; None if it is not."""
    return await _elsewhere(_the_runtime().attempt_seconds(run, nonce))


async def cancel_attempts(run: str, nonces: tuple[str, ...] | None = None) -> None:
    """End attempts with all their processes."""
    await _elsewhere(_the_runtime().cancel(run, nonces))


async def close_run_here(run: str) -> None:
    """End a run on this worker."""
    await _elsewhere(_the_runtime().close(run))


async def exchange_here(
    run: str, request: bytes | None, received: tuple[str, ...], hold: float, again: bool
) -> bytes | None:
    """Start an attempt, if there is one, and wait up to `hold` seconds for replies; None if the run is unknown."""
    replies = await _elsewhere(_the_runtime().exchange(run, request, received, hold, again))
    return None if replies is None else pack_replies(replies)


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
