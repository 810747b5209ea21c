"""The gateway of a run without models."""

from __future__ import annotations

import pytest

from demeanor.core.values.errors import WorldError
from demeanor.gateway.null import NullGateway
from tests.gateway.helpers import a_trial


async def test_opening_a_session_is_an_error() -> None:
    """It starts and stops, but an agent that needs a model makes the trial void."""
    gateway = NullGateway()
    await gateway.start()
    with pytest.raises(WorldError, match="its agent is declared to need none"):
        gateway.session(a_trial(), seed=1)
    await gateway.stop()
