"""Server-sent events: the framing that most dialects use for streams."""

from __future__ import annotations

import re
from dataclasses import dataclass

from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.json_reader import to_json

MAX_EVENT_BYTES = 32 * 1024 * 1024
"""No provider sends longer events; the limit protects the gateway's memory."""

_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")
_BOM = b"\xef\xbb\xbf"
_FIELDS = (b"data", b"event", b"id", b"retry", b"")


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One event."""

    data: bytes
    """Its data lines, joined by line feeds."""

    name: str = ""
    """Its `event:` field."""


def first_line_is_event(start: bytes) -> bool | None:
    """Whether a stream's first line is a field of an event or a comment; None if there are too few bytes to tell."""
    line = start.removeprefix(_BOM).lstrip()
    name, colon, _ = line.partition(b":")
    if colon:
        return name in _FIELDS
    return None if any(field.startswith(name) for field in _FIELDS) else False


def event(data: object, name: str | None = None) -> bytes:
    """One event with JSON data, encoded."""
    head = f"event: {name}\n".encode() if name else b""
    return b"%sdata: %s\n\n" % (head, to_json(data))


class SseReader:
    """Splits a stream into events; chunks may end anywhere."""

    def __init__(self) -> None:
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._name = ""
        self._begun = False

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that are complete with this chunk."""
        no_line_end = b"\n" not in chunk and b"\r" not in chunk and not self._rest.endswith(b"\r")
        self._rest += chunk
        if len(self._rest) > MAX_EVENT_BYTES:
            raise Malformed(f"an event is longer than {MAX_EVENT_BYTES} bytes")
        if no_line_end:
            return []
        *lines, rest = _LINE_END.split(self._rest)
        self._rest = bytearray(rest)
        return [event for line in lines if (event := self._take(bytes(line))) is not None]

    def close(self) -> list[Event]:
        """The incomplete event at the end of the stream, if any."""
        events = [self._take(bytes(self._rest.rstrip(b"\r")))] if self._rest else []
        self._rest.clear()
        if self._data:
            events.append(self._event())
        return [event for event in events if event is not None]

    def _take(self, line: bytes) -> Event | None:
        if not self._begun:
            self._begun = True
            line = line.removeprefix(_BOM)
        if not line:
            return self._event() if self._data else None
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data.append(value)
        elif name == b"event":
            self._name = value.decode("utf-8", "replace")
        return None

    def _event(self) -> Event:
        event = Event(data=b"\n".join(self._data), name=self._name)
        self._data, self._name = [], ""
        return event
