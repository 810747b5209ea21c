"""How long a provider had owed an answer, looked at while an agent works.

When an agent's time runs out its connections are closed, and nobody owes it an answer any more. Harbor ends it, not we;
so the gateway is looked at all the time, and asked afterwards how things stood at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from demeanor.core.ports import GatewaySession
from demeanor.core.stall import stall_seconds

_LOOK = 0.5
_NEAR = 3.0


class StallWatch:
    """When the provider last owed an answer, and for how long it had."""

    def __init__(self, session: GatewaySession | None) -> None:
        self._session = session
        self._seen: list[tuple[float, float]] = []

    @classmethod
    @asynccontextmanager
    async def of(cls, session: GatewaySession | None) -> AsyncIterator[StallWatch]:
        """One that looks for as long as this is entered."""
        silence = cls(session)
        looking = asyncio.ensure_future(silence._look_on()) if session else None
        try:
            yield silence
        finally:
            if looking:
                looking.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await looking

    async def _look_on(self) -> None:
        while True:
            self._look()
            await asyncio.sleep(_LOOK)

    def _look(self) -> None:
        if self._session is None or not self._session.waiting():
            return
        owed = time.monotonic() - self._session.last_activity()
        if self._seen and owed > self._seen[-1][1]:
            self._seen.pop()  # the same silence, which has gone on
        self._seen.append((time.time(), owed))

    def before(self, moment: float | None, timeout: float) -> float | None:
        """How long the provider had been silent at a moment (since 1970), if that is enough to blame it."""
        if moment is None:
            return None
        owed = max((seconds for when, seconds in self._seen if abs(when - moment) < _NEAR), default=None)
        return stall_seconds(owed, timeout)
