"""Reads streamed responses of the Anthropic dialect: a message start, one block after the other, a message stop."""

from __future__ import annotations

from collections.abc import Iterator

from demeanor.core.values.messages import Opaque, Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects.anthropic.blocks import NAME, read_block
from demeanor.gateway.dialects.anthropic.response import read_stop, read_usage
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.errors import embedded_error, stream_error
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_count,
    maybe_object,
    maybe_string,
    parse_object,
    read_each,
    string,
)
from demeanor.gateway.dialects.sse import Event
from demeanor.gateway.dialects.stream_events import (
    Began,
    Delta,
    Finished,
    PartClosed,
    PartGrew,
    PartOpened,
    deltas_of_part,
)
from demeanor.gateway.dialects.stream_reader import EventReader
from demeanor.gateway.dialects.strict_json import compact


class AnthropicReader(EventReader):
    """Reads one streamed response."""

    def __init__(self) -> None:
        super().__init__()
        self._began = False
        self._open: dict[int, Part] = {}
        self._seen: set[int] = set()
        self._with_arguments: set[int] = set()
        self._citations: dict[int, list[Json]] = {}
        self._called = False
        self._stop: str | None = None
        self._usage: Json = {}
        self._extra: Json = {}

    def read_event(self, event: Event) -> Iterator[Delta]:
        """The deltas of one event; unknown events are ignored, as Anthropic requires of its clients."""
        data = parse_object(event.data)
        kind = maybe_string(data, "type") or event.name
        if kind == "message_start":
            yield from self._begin(maybe_object(data, "message"))
        elif kind == "content_block_start":
            yield from self._open_block(_index(data), maybe_object(data, "content_block"))
        elif kind == "content_block_delta":
            yield from self._grow(_index(data), maybe_object(data, "delta"))
        elif kind == "content_block_stop":
            yield from self._close_block(_index(data))
        elif kind == "message_delta":
            delta = maybe_object(data, "delta")
            self._stop = maybe_string(delta, "stop_reason") or self._stop
            self._extra.update({key: value for key, value in delta.items() if value is not None})
            self._count(maybe_object(data, "usage"))
        elif kind == "message_stop":
            self.done = True
            yield from self._finish()
        elif kind == "error":
            yield self.fail(embedded_error(data))

    def at_end(self) -> Iterator[Delta]:
        """The stream ended without message_stop."""
        yield from self._finish()

    def _begin(self, message: Json) -> Iterator[Delta]:
        self._began = True
        self._count(maybe_object(message, "usage"))
        self._extra = {key: value for key, value in message.items() if key != "content"}
        yield Began(
            id=maybe_string(message, "id"), model=maybe_string(message, "model"), extra={NAME: dict(self._extra)}
        )
        self._stop = maybe_string(message, "stop_reason")
        for index, part in enumerate(read_each(message, "content", read_block)):
            self._seen.add(index)
            self._called |= isinstance(part, ToolCall)
            yield from deltas_of_part(index, part)

    def _open_block(self, index: int, block: Json) -> Iterator[Delta]:
        if not self._began:
            raise Malformed("content_block_start: came before message_start")
        if index in self._seen:
            raise Malformed(f"content_block_start: block {index} was already opened")
        self._seen.add(index)
        part = read_block(block)
        if isinstance(part, ToolCall):
            self._called = True
        self._open[index] = part
        yield PartOpened(index=index, part=_opened(part))

    def _grow(self, index: int, delta: Json) -> Iterator[Delta]:
        part = self._open.get(index)
        if part is None:
            raise Malformed(f"content_block_delta: block {index} is not open")
        kind = maybe_string(delta, "type")
        if isinstance(part, Opaque):
            return
        if kind == "text_delta":
            yield PartGrew(index=index, text=string(delta, "text"))
        elif kind == "input_json_delta":
            self._with_arguments.add(index)
            yield PartGrew(index=index, text=string(delta, "partial_json"))
        elif kind == "thinking_delta":
            yield PartGrew(index=index, text=string(delta, "thinking"))
        elif kind == "signature_delta":
            yield PartGrew(index=index, signature=string(delta, "signature"))
        elif kind == "citations_delta":
            cited = self._citations.setdefault(index, [])
            cited.append(maybe_object(delta, "citation"))
            yield PartGrew(index=index, extra={NAME: {"citations": list(cited)}})

    def _close_block(self, index: int) -> Iterator[Delta]:
        part = self._open.pop(index, None)
        if isinstance(part, ToolCall) and index not in self._with_arguments and part.arguments:
            yield PartGrew(index=index, text=compact(part.arguments))
        if part is not None:
            yield PartClosed(index=index)

    def _finish(self) -> Iterator[Delta]:
        if not self._began or self._stop is None:
            problem = "ended without a stop_reason" if self._began else "is empty"
            yield self.fail(stream_error(f"the stream {problem}", cut=True))
            return
        for index in list(self._open):
            yield from self._close_block(index)
        extra = {**self._extra, "usage": self._usage} if self._usage else self._extra
        stop = read_stop(self._stop, calls=self._called)
        yield Finished(stop=stop, usage=read_usage(self._usage), extra={NAME: extra})

    def _count(self, usage: Json) -> None:
        """Token counts are totals: a later one replaces an earlier one."""
        read_usage(usage)
        self._usage.update({key: value for key, value in usage.items() if value is not None})


def _index(data: Json) -> int:
    index = maybe_count(data, "index")
    if index is None:
        raise Malformed("index: expected a whole number, found null")
    return index


def _opened(part: Part) -> Part:
    """A call is opened without its arguments, which follow later."""
    if isinstance(part, ToolCall):
        return ToolCall(id=part.id, name=part.name, arguments={}, extra=part.extra)
    return part if isinstance(part, Text | Thinking | Opaque) else Opaque(extra=part.extra)
