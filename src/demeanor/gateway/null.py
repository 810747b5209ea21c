"""The gateway of a run in which no agent uses a model: it loads nothing and does not listen."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager

from demeanor.core.values.errors import WorldError
from demeanor.core.values.fault import Role
from demeanor.core.values.ports import GatewaySession
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import VoidCause


class NullGateway:
    """Implements `Gateway` for agents without a model; opening a session is an error."""

    async def start(self) -> None:
        """Do nothing."""

    async def stop(self) -> None:
        """Do nothing."""

    def last_steps(self) -> Mapping[str, str]:
        """Nothing: no agent asks it."""
        return {}

    def session(
        self, trial: Trial, *, seed: int, role: Role = "agent", of: Trial | None = None
    ) -> AbstractAsyncContextManager[GatewaySession]:
        """Raise WorldError: the agent was declared as one that needs no model."""
        raise WorldError(VoidCause.HARNESS, f"{trial.id} requested a model, but its agent is declared to need none")
