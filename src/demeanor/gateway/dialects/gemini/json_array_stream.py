"""A stream as one growing JSON array: how Gemini streams if the client does not ask for events."""

from __future__ import annotations

import re

from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.sse import MAX_EVENT_BYTES, Event, SseReader

_STRUCTURE = re.compile(rb'["\\{}\[\]]')


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
        found: list[Event] = []
        done = 0
        while (match := _STRUCTURE.search(self._rest, self._at)) is not None:
            character = match[0]
            self._at = match.end()
            if self._quoted:
                if character == b"\\":
                    if self._at == len(self._rest):
                        self._at -= 1
                        break
                    self._at += 1
                elif character == b'"':
                    self._quoted = False
            elif character == b'"':
                self._quoted = True
            elif character == b"{":
                if self._depth == 0:
                    self._begin = match.start()
                self._depth += 1
            elif character == b"}" and self._depth:
                self._depth -= 1
                if self._depth == 0:
                    found.append(Event(data=bytes(self._rest[self._begin : self._at])))
                    done = self._at
        else:
            self._at = len(self._rest)
        if done:
            del self._rest[:done]
            self._at -= done
            self._begin -= done
        return found

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
