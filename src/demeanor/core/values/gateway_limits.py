"""Limits on what one agent may ask of the gateway, and a provider may answer, so that neither can stall the run or
fill its memory."""

from __future__ import annotations

from dataclasses import dataclass

_DISTINCT_FACTOR = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class GatewayLimits:
    """The limits of one session."""

    request: int = 32 * 2**20
    """Bytes of one request to a model; a larger request is refused with status 413."""

    connections: int = 64
    """Open connections; further ones are closed."""

    response: int = 32 * 2**20
    """Bytes of one response of a provider; a longer one is cut off."""

    requests: int = 10_000
    """Requests in all; further ones are refused, and not recorded. Tiny ones would fill the memory, too."""

    notes: int = 200
    """Notes for the user: an agent chooses the names of the models and paths that it requests."""

    asked: int = 4 * 2**20
    """Bytes that the user is asked in all; further questions are refused."""

    @property
    def distinct(self) -> int:
        """Bytes of different content in all requests together; a request that exceeds them is refused with 413."""
        return self.request * _DISTINCT_FACTOR

    @property
    def received(self) -> int:
        """Bytes of all responses together; the one that exceeds them is cut off, and no further request is sent."""
        return self.response * _DISTINCT_FACTOR
