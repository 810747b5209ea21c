"""What all stream readers share: events in, deltas out, and never an exception."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from demeanor.core.exchange import ProviderError
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.refusal import broken
from demeanor.gateway.dialects.sse import Event, SseReader
from demeanor.gateway.dialects.stream_events import Broke, Delta


class Envelope(Protocol):
    """Cuts bytes into events."""

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that are complete with this chunk."""
        ...

    def close(self) -> list[Event]:
        """What the end of the stream cut short."""
        ...


class EventReader:
    """Turns the bytes of a stream into deltas; a dialect says what each event means."""

    def __init__(self, envelope: Envelope | None = None) -> None:
        self._envelope: Envelope = envelope or SseReader()
        self.over = False
        """Whether everything was said; what comes after is ignored."""

    def take(self, event: Event) -> Iterable[Delta]:
        """What one event says; may raise Malformed."""
        raise NotImplementedError

    def ended(self) -> Iterable[Delta]:
        """What the end of the stream says, where no event has said that it is over."""
        raise NotImplementedError

    def feed(self, chunk: bytes) -> list[Delta]:
        """The deltas that are complete with this chunk."""
        told: list[Delta] = []
        if not self.over:
            try:
                self._take_all(self._envelope.feed(chunk), told)
            except Malformed as error:
                told.append(self.broke(broken(str(error))))
        return told

    def close(self) -> list[Delta]:
        """The deltas that the end of the stream completes; `Broke` where it ended too early."""
        told: list[Delta] = []
        if not self.over:
            try:
                self._take_all(self._envelope.close(), told)
                if not self.over:
                    told.extend(self.ended())
            except Malformed as error:
                told.append(self.broke(broken(str(error), cut=True)))
            self.over = True
        return told

    def broke(self, error: ProviderError) -> Broke:
        """The end, because of `error`."""
        self.over = True
        return Broke(error=error)

    def _take_all(self, events: list[Event], told: list[Delta]) -> None:
        for event in events:
            told.extend(self.take(event))
            if self.over:
                return
