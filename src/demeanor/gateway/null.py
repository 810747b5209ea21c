"""The gateway of a run in which no agent needs a model: nothing is loaded, nothing listens."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager

from demeanor.core.errors import WorldError
from demeanor.core.ports import GatewaySession
from demeanor.core.trial import Trial
from demeanor.core.verdict import VoidCause


class NullGateway:
    """Stands where a gateway would, and opens no door."""

    async def start(self) -> None:
        """Nothing to do."""

    async def stop(self) -> None:
        """Nothing to do."""

    def session(self, trial: Trial, *, seed: int) -> AbstractAsyncContextManager[GatewaySession]:
        """Nobody should ask for one."""
        raise WorldError(VoidCause.HARNESS, f"{trial.id} asked for a model, but its agent was said to need none")
