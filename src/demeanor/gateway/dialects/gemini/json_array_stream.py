"""A JSON array that grows: how Gemini streams where nobody asks for events."""

from __future__ import annotations

import re

from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.sse import LONGEST, Event, SseReader

_MARKS = re.compile(rb'["\\{}\[\]]')


class ArrayReader:
    """Cuts the objects out of an array, wherever the bytes are cut."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._at = 0
        self._depth = 0
        self._begin = 0
        self._quoted = False

    def feed(self, chunk: bytes) -> list[Event]:
        """The objects that are complete with this chunk."""
        self._rest += chunk
        if len(self._rest) > LONGEST:
            raise Malformed(f"an item is longer than {LONGEST} bytes")
        found: list[Event] = []
        done = 0
        while (mark := _MARKS.search(self._rest, self._at)) is not None:
            sign = mark[0]
            self._at = mark.end()
            if self._quoted:
                if sign == b"\\":
                    if self._at == len(self._rest):
                        self._at -= 1
                        break
                    self._at += 1
                elif sign == b'"':
                    self._quoted = False
            elif sign == b'"':
                self._quoted = True
            elif sign == b"{":
                if self._depth == 0:
                    self._begin = mark.start()
                self._depth += 1
            elif sign == b"}" and self._depth:
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
        """The object that the end of the stream cut short, if any."""
        return [Event(data=bytes(self._rest[self._begin :]), whole=False)] if self._depth else []


class EitherReader:
    """Finds out from the first byte how a stream is framed."""

    def __init__(self) -> None:
        self._inner: ArrayReader | SseReader | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """What is complete with this chunk."""
        if self._inner is None:
            begun = chunk.lstrip()
            if not begun:
                return []
            self._inner = ArrayReader() if begun[:1] in {b"[", b"{"} else SseReader()
        return self._inner.feed(chunk)

    def close(self) -> list[Event]:
        """What the end of the stream cut short."""
        return [] if self._inner is None else self._inner.close()
