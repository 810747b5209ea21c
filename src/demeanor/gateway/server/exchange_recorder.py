"""One exchange while it happens: what was asked, what has been answered so far, and when."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from demeanor.core.exchange import Exchange, ProviderError, Request, Response
from demeanor.gateway.dialects.stream_events import Assembler, Broke
from demeanor.gateway.models.prices import cost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from demeanor.gateway.dialects.stream_events import Delta
    from demeanor.gateway.models.prices import Price


class ExchangeRecorder:
    """An exchange being recorded; `exchange` gives what is known at any moment."""

    def __init__(self, *, number: int, dialect: str, request: Request, started: float, origin: float) -> None:
        self.number = number
        self.dialect = dialect
        self.request = request
        self.price: Price | None = None
        self.cost_usd: float | None = None
        self.fault: str | None = None
        self.owed = False
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

    def answering(self) -> None:
        """Note that bytes of the answer are moving; the first ones are its beginning."""
        self.touch()
        if self._first_byte is None:
            self._first_byte = self.activity

    def heard(self, deltas: Iterable[Delta]) -> None:
        """Take in pieces of the answer."""
        for delta in deltas:
            if isinstance(delta, Broke):
                self.failed(delta.error)
            if self._assembler is None:
                self._assembler = Assembler()
            self._assembler.take(delta)

    def answered(self, response: Response) -> None:
        """Take in the whole answer; nothing is owed any more."""
        self._response = response
        self.owed = False

    def failed(self, error: ProviderError) -> None:
        """Note an error; the first one counts."""
        self.error = self.error or error

    def end(self) -> None:
        """Note that nothing more will come."""
        self.owed = False
        self.touch()
        self._ended = self.activity

    def exchange(self) -> Exchange:
        """What is known now. An answer that broke off stands beside its error, as far as it came."""
        response = self._response
        if response is None and self._assembler is not None:
            response = self._assembler.response()
        first = self._first_byte
        costs = self.cost_usd
        if costs is None and response is not None:
            costs = cost(response.usage, self.price)
        return Exchange(
            number=self.number,
            dialect=self.dialect,
            request=self.request,
            response=response,
            error=self.error,
            started=self._started - self._origin,
            first_byte=None if first is None else first - self._origin,
            ended=(self._ended or time.monotonic()) - self._origin,
            cost_usd=costs,
            fault=self.fault,
        )
