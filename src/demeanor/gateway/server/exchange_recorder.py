"""Records one exchange while it happens: the request, the response so far, and the times."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from demeanor.core.values.exchange import Exchange, ProviderError, Request, Response, Usage
from demeanor.gateway.dialects.errors import without_keys
from demeanor.gateway.dialects.stream_events import Assembler, Interrupted
from demeanor.gateway.models.prices import cost
from demeanor.gateway.server.budget import Charge, tokens_of
from demeanor.gateway.server.shared_parts import part_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from demeanor.gateway.dialects.stream_events import Delta
    from demeanor.gateway.models.prices import Price


class ExchangeRecorder:
    """An exchange being recorded; `exchange` returns what is known so far."""

    def __init__(
        self, *, number: int, dialect: str, request: Request, started: float, origin: float, size: int = 0
    ) -> None:
        """`size` is that of the request in bytes."""
        self.size = size
        self.number = number
        self.dialect = dialect
        self.request = request
        self.price: Price | None = None
        self.most = Charge()
        """The most that the exchange may cost, until its answer is known."""
        self.cost_usd: float | None = None
        self.fault: str | None = None
        self.interventions: tuple[str, ...] = ()
        self.replayed = False
        self.awaiting_provider = False
        self.sent = False
        """Whether a provider has got the request."""
        self.complete = False
        """Whether the answer came to its end."""
        self.activity = started
        self.error: ProviderError | None = None
        self._response: Response | None = None
        self._assembler: Assembler | None = None
        self._origin = origin
        self._started = started
        self._first_byte: float | None = None
        self._ended: float | None = None

    def touch(self) -> None:
        """Note that bytes moved just now."""
        self.activity = time.monotonic()

    def touch_response(self) -> None:
        """Note that bytes of the response moved just now; the first call sets the time to first byte."""
        self.touch()
        if self._first_byte is None:
            self._first_byte = self.activity

    def set_queued(self, waits: bool) -> None:
        """Note whether the request waits for its turn here: when it is on its way, the provider owes bytes."""
        self.awaiting_provider = self.sent = not waits
        self.touch()

    def add_deltas(self, deltas: Iterable[Delta]) -> None:
        """Add pieces of a streamed response."""
        for delta in deltas:
            if isinstance(delta, Interrupted):
                self.set_error(delta.error)
            if self._assembler is None:
                self._assembler = Assembler()
            self._assembler.take(delta)

    def set_response(self, response: Response) -> None:
        """Set the complete response; the provider owes nothing more."""
        self._response = response
        self.complete = True
        self.awaiting_provider = False

    def set_error(self, error: ProviderError) -> None:
        """Set the error; only the first one counts, and the provider owes nothing more."""
        self.error = self.error or replace(error, message=without_keys(error.message))
        self.awaiting_provider = False

    def end(self) -> None:
        """Note that the exchange is over."""
        self.awaiting_provider = False
        self.touch()
        self._ended = self.activity

    def exchange(self) -> Exchange:
        """What is known so far. A response that broke off is kept as far as it came, together with the error."""
        response = self._response
        if response is None and self._assembler is not None:
            response = self._assembler.response()
        first = self._first_byte
        if response is not None and self._ended and self.fault is None and (self.error or not self.complete):
            response = replace(response, usage=self._at_least_received(response))
        cost_usd = self.cost_usd
        if cost_usd is None and response is not None:
            cost_usd = cost(response.usage, self.price)
        return Exchange(
            number=self.number,
            dialect=self.dialect,
            request=self.request,
            response=response,
            error=self.error,
            started=self._started - self._origin,
            first_byte=None if first is None else first - self._origin,
            ended=(self._ended or time.monotonic()) - self._origin,
            cost_usd=cost_usd,
            fault=self.fault,
            interventions=self.interventions,
            replayed=self.replayed,
        )

    def _at_least_received(self, response: Response) -> Usage:
        """The tokens of an answer that broke off, or that the agent did not wait for: providers count them at the end,
        and what they have sent until then is counted by its size."""
        usage, received = response.usage, sum(map(part_size, response.parts))
        sent, estimated = tokens_of(replace(usage, output=None), self.size, received)
        return replace(usage, input=sent, output=max(usage.output or 0, estimated))
