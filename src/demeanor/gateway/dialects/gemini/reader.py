"""Reads streamed responses of the Gemini dialect: each event is a whole response with the next piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from demeanor.core.values.exchange import StopReason
from demeanor.core.values.messages import Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.errors import embedded_error, stream_error
from demeanor.gateway.dialects.gemini.json_array_stream import AutoFramingReader
from demeanor.gateway.dialects.gemini.parts import NAME, read_part
from demeanor.gateway.dialects.gemini.response import CANDIDATE, USAGE, read_stop, read_usage
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_list,
    maybe_object,
    maybe_string,
    own_fields,
    parse_object,
    read_each,
    require_object,
)
from demeanor.gateway.dialects.sse import Event
from demeanor.gateway.dialects.stream_events import Began, Delta, Finished, PartClosed, PartGrew, PartOpened
from demeanor.gateway.dialects.stream_reader import EventReader


class GeminiReader(EventReader):
    """Reads one streamed response."""

    def __init__(self) -> None:
        super().__init__(AutoFramingReader())
        self._began = self._called = False
        self._response_id = ""
        self._index = -1
        self._part: Part | None = None
        self._signed = False
        """Whether the open part is a thought with a signature, which ends it."""

        self._stop: StopReason | None = None
        self._top: Json = {}
        self._candidate: Json = {}

    def read_event(self, event: Event) -> Iterator[Delta]:
        """The deltas of one event."""
        top = parse_object(event.data)
        if top.get("error"):
            yield self.fail(embedded_error(top))
            return
        read_usage(maybe_object(top, USAGE))
        self._top.update({key: value for key, value in top.items() if key != "candidates"})
        if not self._began:
            self._began = True
            self._response_id = maybe_string(top, "responseId") or ""
            extra = {key: value for key, value in self._top.items() if key != USAGE}
            yield Began(id=self._response_id or None, model=maybe_string(top, "modelVersion"), extra={NAME: extra})
        candidates = [require_object(candidate, "candidates") for candidate in maybe_list(top, "candidates")]
        first: Json = next((candidate for candidate in candidates if not candidate.get("index")), {})
        for part in read_each(maybe_object(first, "content"), "parts", read_part):
            yield from self._take_part(part)
        self._candidate.update({key: value for key, value in first.items() if key != "content"})
        stop = read_stop(top, first, calls=self._called)
        if stop is not StopReason.UNKNOWN or first.get("finishReason"):
            self._stop = stop

    def at_end(self) -> Iterator[Delta]:
        """The end of the stream: the dialect has no end event, so a response with a stop reason is complete."""
        if self._stop is None:
            yield self.fail(stream_error("the stream ended before the response was complete", cut=True))
            return
        yield from self._close_part()
        extra: dict[str, Any] = {NAME: self._top, CANDIDATE: self._candidate}
        yield Finished(stop=self._stop, usage=read_usage(maybe_object(self._top, USAGE)), extra=extra)

    def _take_part(self, part: Part) -> Iterator[Delta]:
        if isinstance(part, Text | Thinking) and type(self._part) is type(part) and not self._signed:
            yield self._grown(part)
            return
        if isinstance(part, Text) and not part.text and not part.extra:
            return
        yield from self._close_part()
        self._index += 1
        if isinstance(part, Text | Thinking):
            self._part = part
            opened = replace(part, text="", extra={}) if isinstance(part, Text) else Thinking(extra=part.extra)
            yield PartOpened(index=self._index, part=opened)
            yield self._grown(part)
        elif isinstance(part, ToolCall):
            self._called = True
            call_id = part.id or ids.generated("call_", self._response_id, self._index)
            yield PartOpened(index=self._index, part=replace(part, id=call_id, arguments={}, raw=""))
            yield PartGrew(index=self._index, text=part.raw)
            yield PartClosed(index=self._index)
        else:
            yield PartOpened(index=self._index, part=part)
            yield PartClosed(index=self._index)

    def _grown(self, part: Text | Thinking) -> PartGrew:
        if isinstance(part, Thinking):
            self._signed = part.signature is not None
            return PartGrew(index=self._index, text=part.text, signature=part.signature)
        fields = own_fields(part.extra, NAME)
        return PartGrew(index=self._index, text=part.text, extra={NAME: fields} if fields else {})

    def _close_part(self) -> Iterator[Delta]:
        self._signed = False
        if self._part is not None:
            self._part = None
            yield PartClosed(index=self._index)
