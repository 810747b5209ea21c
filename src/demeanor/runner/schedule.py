"""Runs trials in parallel, as many as there are slots, and retries void ones after a pause."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from demeanor.core.values.capture import Capture
from demeanor.core.values.ports import Executor
from demeanor.core.values.record import Record
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import Void

Conclude: TypeAlias = Callable[[Trial, int, Capture, bool], Awaitable[Record]]
"""Judges and stores one attempt; the flag says whether it is the last one that the trial may have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retries:
    """How void trials are retried."""

    most: int = 3
    """Attempts per trial, the first included."""

    pause: float = 1.0
    """Seconds before the second attempt; doubled each time, with some randomness."""

    longest: float = 60.0
    """The longest pause, in seconds."""

    def seconds(self, attempt: int) -> float:
        """The pause after attempt number `attempt`."""
        pause: float = min(self.pause * 2 ** (attempt - 1), self.longest)
        return pause * random.uniform(0.75, 1.25)  # noqa: S311 - jitter, not a secret


class Stop:
    """A request to start no further trial. Running ones are finished."""

    def __init__(self) -> None:
        self.reason: str | None = None

    def set(self, reason: str) -> None:
        """Request the end of the run; the first reason counts."""
        self.reason = self.reason or reason


async def run_trials(
    trials: Iterable[Trial],
    executor: Executor,
    conclude: Conclude,
    *,
    retries: Retries,
    stop: Stop,
    started: Callable[[Trial, int], None],
    tried: Mapping[str, int] | None = None,
) -> None:
    """Run all trials. A trial that waits for its next attempt occupies no slot.

    `tried` holds the number of stored attempts by trial id; further attempts are numbered from there.
    """
    slots = executor.free_slots()

    async def run_trial(trial: Trial) -> None:
        """Run a trial that has a slot for its first attempt."""
        before = (tried or {}).get(trial.id, 0)
        for attempt in range(before + 1, before + retries.most + 1):
            try:
                if stop.reason is not None:
                    return
                started(trial, attempt)
                capture = await executor.run_attempt(trial, attempt)
                record = await conclude(trial, attempt, capture, attempt == before + retries.most)
                del capture
            finally:
                slots.release()
            if record.final:
                return
            await asyncio.sleep(retries.seconds(attempt - before))
            await slots.acquire()

    async with asyncio.TaskGroup() as group:
        for trial in trials:
            await slots.acquire()  # a task per trial from the start would need memory for all of them
            group.create_task(run_trial(trial))


def is_final(record: Record, capture: Capture, *, last: bool) -> bool:
    """Whether a trial needs no further attempt."""
    verdict = record.verdict
    if last or not isinstance(verdict, Void) or not verdict.cause.retryable or verdict.refuted:
        return True
    return capture.breakdown is not None and capture.breakdown.permanent
