"""What goes on in the gateway right now, for progress displays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from demeanor.core.exchange import Exchange


@dataclass(frozen=True, kw_only=True, slots=True)
class Counters:
    """The gateway's numbers at one moment, over all sessions since it began."""

    sessions: int = 0
    """Sessions that are open."""

    open: int = 0
    """Exchanges that are under way."""

    exchanges: int = 0
    """Exchanges that have ended."""

    input_tokens: int = 0
    """Tokens sent, as far as providers said."""

    output_tokens: int = 0
    """Tokens received, as far as providers said."""

    cost_usd: float = 0.0
    """Money, as far as prices are known."""

    unpriced: int = 0
    """Answers whose cost is not known."""

    errors: Mapping[str, int] = field(default_factory=dict)
    """Reason → how many exchanges ended in such an error."""


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

    def enter(self, exchange: Exchange) -> None:
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

    def read(self) -> Counters:
        """The numbers now."""
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
