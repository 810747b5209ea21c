"""The common base of stream readers: events in, deltas out, and never an exception."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from demeanor.core.values.exchange import ProviderError
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.errors import stream_error
from demeanor.gateway.dialects.sse import Event, SseReader
from demeanor.gateway.dialects.stream_events import Delta, Interrupted


class Framing(Protocol):
    """Splits bytes into events."""

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that are complete with this chunk."""
        ...

    def close(self) -> list[Event]:
        """The incomplete event at the end of the stream, if any."""
        ...


class EventReader:
    """Turns the bytes of a stream into deltas; a dialect defines what each event means."""

    def __init__(self, framing: Framing | None = None) -> None:
        self._framing: Framing = framing or SseReader()
        self.done = False
        """Whether the response is complete; later events are ignored."""

    def read_event(self, event: Event) -> Iterable[Delta]:
        """The deltas of one event; may raise Malformed."""
        raise NotImplementedError

    def at_end(self) -> Iterable[Delta]:
        """The deltas for the end of the stream, if no event marked it as done."""
        raise NotImplementedError

    def feed(self, chunk: bytes) -> list[Delta]:
        """The deltas that are complete with this chunk."""
        deltas: list[Delta] = []
        if not self.done:
            try:
                self._read_events(self._framing.feed(chunk), deltas)
            except Malformed as error:
                deltas.append(self.fail(stream_error(str(error))))
        return deltas

    def close(self) -> list[Delta]:
        """The deltas that the end of the stream completes; `Interrupted` if it ended too early."""
        deltas: list[Delta] = []
        if not self.done:
            try:
                self._read_events(self._framing.close(), deltas)
                if not self.done:
                    deltas.extend(self.at_end())
            except Malformed as error:
                deltas.append(self.fail(stream_error(str(error), cut=True)))
            self.done = True
        return deltas

    def fail(self, error: ProviderError) -> Interrupted:
        """End the stream with `error`."""
        self.done = True
        return Interrupted(error=error)

    def _read_events(self, events: list[Event], deltas: list[Delta]) -> None:
        for event in events:
            deltas.extend(self.read_event(event))
            if self.done:
                return
