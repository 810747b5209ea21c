"""Records how long the provider has been silent while an agent runs.

When an agent times out, its connections are closed, and the gateway no longer waits for an answer. Harbor kills the
agent, not Demeanor, so the gateway is polled all the time, and the record is searched afterwards.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from demeanor.core.values.capture import stall_seconds
from demeanor.core.values.ports import GatewaySession

_INTERVAL = 0.5
_TOLERANCE = 3.0


class StallWatch:
    """When the gateway was waiting for the provider, and for how long."""

    def __init__(self, session: GatewaySession | None) -> None:
        self._session = session
        self._silences: list[tuple[float, float]] = []

    @classmethod
    @asynccontextmanager
    async def of(cls, session: GatewaySession | None) -> AsyncIterator[StallWatch]:
        """A watch that polls the session within this context."""
        watch = cls(session)
        polling = asyncio.ensure_future(watch._poll_repeatedly()) if session else None
        try:
            yield watch
        finally:
            if polling:
                polling.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await polling

    async def _poll_repeatedly(self) -> None:
        while True:
            self._poll()
            await asyncio.sleep(_INTERVAL)

    def _poll(self) -> None:
        if self._session is None or not self._session.waiting():
            return
        silent = time.monotonic() - self._session.last_activity()
        if self._silences and silent > self._silences[-1][1]:
            self._silences.pop()  # the same silence continues
        self._silences.append((time.time(), silent))

    def at(self, moment: float | None, timeout: float) -> float | None:
        """How long the provider had been silent at a time (seconds since 1970), if that is long enough to blame it."""
        if moment is None:
            return None
        silent = max((seconds for when, seconds in self._silences if abs(when - moment) < _TOLERANCE), default=None)
        return stall_seconds(silent, timeout)
