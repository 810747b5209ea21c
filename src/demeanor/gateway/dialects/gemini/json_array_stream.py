"""A stream as one growing JSON array: how Gemini streams if the client does not ask for events."""

from __future__ import annotations

import re

from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.sse import MAX_EVENT_BYTES, Event, SseReader

_OUTSIDE, _IN_STRING = re.compile(rb'["{}]'), re.compile(rb'["\\]')


class ArrayReader:
    """Splits a JSON array into its objects; chunks may end anywhere."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._at = 0
        self._depth = 0
        self._begin = 0
        self._quoted = False

    def feed(self, chunk: bytes) -> list[Event]:
        """The objects that are complete with this chunk."""
        self._rest += chunk
        if len(self._rest) > MAX_EVENT_BYTES:
            raise Malformed(f"an item is longer than {MAX_EVENT_BYTES} bytes")
        events: list[Event] = []
        done = 0
        while (mark := self._next_mark()) is not None:
            if mark == b'"':
                self._quoted = not self._quoted
            elif mark == b"{":
                if self._depth == 0:
                    self._begin = self._at - 1
                self._depth += 1
            elif self._depth:
                self._depth -= 1
                if self._depth == 0:
                    events.append(Event(data=bytes(self._rest[self._begin : self._at])))
                    done = self._at
        if done:
            del self._rest[:done]
            self._at -= done
            self._begin -= done
        return events

    def _next_mark(self) -> bytes | None:
        """The next quote, or brace outside of a string; None if there is none in what has arrived."""
        marks = _IN_STRING if self._quoted else _OUTSIDE
        while (match := marks.search(self._rest, self._at)) is not None:
            if match[0] != b"\\":
                self._at = match.end()
                return match[0]
            if match.end() == len(self._rest):  # what it escapes comes with the next chunk
                self._at = match.start()
                return None
            self._at = match.end() + 1
        self._at = len(self._rest)
        return None

    def close(self) -> list[Event]:
        """The incomplete object at the end of the stream, if any."""
        return [Event(data=bytes(self._rest[self._begin :]))] if self._depth else []


class AutoFramingReader:
    """Detects from the first byte whether a stream is an array or server-sent events."""

    def __init__(self) -> None:
        self._inner: ArrayReader | SseReader | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that are complete with this chunk."""
        if self._inner is None:
            start = chunk.lstrip()
            if not start:
                return []
            self._inner = ArrayReader() if start[:1] in {b"[", b"{"} else SseReader()
        return self._inner.feed(chunk)

    def close(self) -> list[Event]:
        """The incomplete event at the end of the stream, if any."""
        return [] if self._inner is None else self._inner.close()
