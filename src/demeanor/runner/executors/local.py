"""Attempts on this machine, in this process's event loop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from demeanor.core.capture import Capture
from demeanor.core.trial import Trial


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalExecutor:
    """This machine."""

    slots: int
    """How many attempts may run at once."""

    attempt: Callable[[Trial, int], Awaitable[Capture]]
    """Makes one attempt."""

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Carry out one attempt here."""
        return await self.attempt(trial, attempt)
