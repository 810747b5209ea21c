"""Live counters of the gateway, for progress displays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from demeanor.core.values.exchange import Exchange


@dataclass(frozen=True, kw_only=True, slots=True)
class Counters:
    """The gateway's counters at one moment, over all sessions since it started."""

    sessions: int = 0
    """Open sessions."""

    open: int = 0
    """Exchanges in progress."""

    exchanges: int = 0
    """Exchanges that have ended."""

    input_tokens: int = 0
    """Tokens sent, as far as the providers reported them."""

    output_tokens: int = 0
    """Tokens received, as far as the providers reported them."""

    cost_usd: float = 0.0
    """Cost, as far as prices are known."""

    unpriced: int = 0
    """Responses with an unknown cost."""

    errors: Mapping[str, int] = field(default_factory=dict)
    """Error reason → number of exchanges that ended with it."""


class MetricsCollector:
    """Adds up what the sessions report."""

    def __init__(self) -> None:
        self.sessions = 0
        self.open = 0
        self._ended = 0
        self._input = 0
        self._output = 0
        self._cost = 0.0
        self._unpriced = 0
        self._errors: Counter[str] = Counter()

    def add(self, exchange: Exchange) -> None:
        """Add an exchange that has ended."""
        self._ended += 1
        if exchange.error:
            self._errors[exchange.error.reason] += 1
        if exchange.response is None:
            return
        self._input += exchange.response.usage.input or 0
        self._output += exchange.response.usage.output or 0
        self._cost += exchange.cost_usd or 0.0
        self._unpriced += exchange.cost_usd is None

    def snapshot(self) -> Counters:
        """The counters now."""
        return Counters(
            sessions=self.sessions,
            open=self.open,
            exchanges=self._ended,
            input_tokens=self._input,
            output_tokens=self._output,
            cost_usd=self._cost,
            unpriced=self._unpriced,
            errors=dict(self._errors),
        )
