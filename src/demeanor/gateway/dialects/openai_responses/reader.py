"""Reads streamed responses of the Responses dialect: items that open, grow and close, then the complete response."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from demeanor.core.values.messages import Part, Text, Thinking
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.errors import embedded_error, stream_error
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_string,
    parse_object,
    string,
)
from demeanor.gateway.dialects.openai_responses.content import NAME, read_part
from demeanor.gateway.dialects.openai_responses.items import is_call, read_call, read_reasoning
from demeanor.gateway.dialects.openai_responses.response import ITEM, read_item, read_stop, read_usage
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


@dataclass(slots=True)
class _OpenPart:
    """A part that is being received."""

    index: int
    part: Part
    grown: bool = False
    closed: bool = False


class ResponsesReader(EventReader):
    """Reads one streamed response."""

    def __init__(self) -> None:
        super().__init__()
        self._began = False
        self._next = 0
        self._items: dict[int, Json] = {}
        self._open: dict[tuple[int, int], _OpenPart] = {}
        self._events: dict[str, Callable[[Json], Iterator[Delta]]] = {
            "response.created": self._begin,
            "response.output_item.added": self._add_item,
            "response.content_part.added": self._add_content,
            "response.output_text.delta": self._grow_text,
            "response.refusal.delta": self._grow_refusal,
            "response.content_part.done": self._close_content,
            "response.reasoning_summary_text.delta": self._grow_summary,
            "response.reasoning_text.delta": self._grow_thought,
            "response.function_call_arguments.delta": self._grow_call,
            "response.custom_tool_call_input.delta": self._grow_call,
            "response.output_item.done": self._end_item,
            "response.completed": self._finish,
            "response.incomplete": self._finish,
            "response.failed": self._fail,
            "error": self._fail,
        }

    def read_event(self, event: Event) -> Iterator[Delta]:
        """The deltas of one event; unknown events are ignored."""
        if event.data.strip() == b"[DONE]":
            return
        data = parse_object(event.data)
        handler = self._events.get(maybe_string(data, "type") or event.name)
        if handler is not None:
            yield from handler(data)

    def at_end(self) -> Iterator[Delta]:
        """The stream ended without an end event."""
        yield self.fail(stream_error("the stream ended before the response was complete", cut=True))

    def _begin(self, data: Json) -> Iterator[Delta]:
        if not self._began:
            self._began = True
            response = maybe_object(data, "response")
            extra = {key: value for key, value in response.items() if key != "output"}
            yield Began(id=maybe_string(response, "id"), model=maybe_string(response, "model"), extra={NAME: extra})

    def _add_item(self, data: Json) -> Iterator[Delta]:
        at, item = _index_field(data, "output_index"), maybe_object(data, "item")
        if at in self._items:
            raise Malformed(f"output_index: item {at} was already added")
        self._items[at] = item
        if item.get("type") == "reasoning":
            thought = read_reasoning(item)
            yield self._opened((at, 0), Thinking(id=thought.id, extra=thought.extra))
        elif is_call(item):
            call = read_call(item)
            yield self._opened((at, 0), replace(call, arguments={}, raw=""))

    def _add_content(self, data: Json) -> Iterator[Delta]:
        at = _index_field(data, "output_index")
        if self._items.get(at, {}).get("type") == "message":
            yield from self._text(at, _index_field(data, "content_index"), maybe_object(data, "part"))

    def _grow_text(self, data: Json) -> Iterator[Delta]:
        at, content = _index_field(data, "output_index"), _index_field(data, "content_index")
        yield from self._text(at, content, {"type": "output_text", "text": ""})
        yield self._grown((at, content), text=string(data, "delta"))

    def _grow_refusal(self, data: Json) -> Iterator[Delta]:
        at, content = _index_field(data, "output_index"), _index_field(data, "content_index")
        yield from self._text(at, content, {"type": "refusal", "refusal": ""})
        yield self._grown((at, content), text=string(data, "delta"))

    def _grow_summary(self, data: Json) -> Iterator[Delta]:
        key = (_index_field(data, "output_index"), 0)
        yield self._grown(key, summary=string(data, "delta"), summary_index=_index_field(data, "summary_index"))

    def _grow_thought(self, data: Json) -> Iterator[Delta]:
        yield self._grown((_index_field(data, "output_index"), 0), text=string(data, "delta"))

    def _grow_call(self, data: Json) -> Iterator[Delta]:
        at, text = _index_field(data, "output_index"), string(data, "delta")
        if self._items.get(at, {}).get("type") == "custom_tool_call":
            opening = '{"input":"' if (at, 0) in self._open and not self._open[at, 0].grown else ""
            text = opening + compact(text)[1:-1]
        yield self._grown((at, 0), text=text)

    def _close_content(self, data: Json) -> Iterator[Delta]:
        yield from self._closed((_index_field(data, "output_index"), _index_field(data, "content_index")))

    def _end_item(self, data: Json) -> Iterator[Delta]:
        """The complete item: whatever was not streamed before is added now."""
        at, item = _index_field(data, "output_index"), maybe_object(data, "item")
        if at not in self._items:
            self._items[at] = item
            for content, part in enumerate(read_item(item)):
                yield from self._complete_part((at, content), part)
            return
        if is_call(item):
            yield from self._end_call((at, 0), item)
        elif item.get("type") == "reasoning":
            yield from self._end_reasoning((at, 0), item)
        elif item.get("type") == "message":
            for content, part in enumerate(read_item(item)):
                if (at, content) not in self._open:
                    yield from self._complete_part((at, content), part)
                yield from self._closed((at, content))
        else:
            for content, part in enumerate(read_item(item)):
                yield from self._complete_part((at, content), part)

    def _end_call(self, key: tuple[int, int], item: Json) -> Iterator[Delta]:
        open_part = self._open.get(key)
        if open_part is not None and not open_part.closed:
            whole = read_call(item)
            rest = '"}' if item.get("type") == "custom_tool_call" else ""
            yield self._grown(key, text=rest if open_part.grown else whole.raw, extra=whole.extra)
            yield from self._closed(key)

    def _end_reasoning(self, key: tuple[int, int], item: Json) -> Iterator[Delta]:
        open_part = self._open.get(key)
        thought = read_reasoning(item)
        if open_part is None or open_part.closed:
            return
        if not open_part.grown:
            for summary_index, summary in enumerate(thought.summary):
                yield self._grown(key, summary=summary, summary_index=summary_index)
            yield self._grown(key, text=thought.text)
        yield self._grown(key, encrypted=thought.encrypted, extra=thought.extra)
        yield from self._closed(key)

    def _finish(self, data: Json) -> Iterator[Delta]:
        self.done = True
        yield from self._begin(data)
        response = maybe_object(data, "response")
        if not self._items:
            for at, item in enumerate(maybe_list(response, "output")):
                yield from self._end_item({"output_index": at, "item": item})
        for key in list(self._open):
            yield from self._closed(key)
        extra = {key: value for key, value in response.items() if key != "output"}
        stop = read_stop(response, [opened.part for opened in self._open.values()])
        yield Finished(stop=stop, usage=read_usage(maybe_object(response, "usage")), extra={NAME: extra})

    def _fail(self, data: Json) -> Iterator[Delta]:
        yield self.fail(embedded_error(maybe_object(data, "response").get("error") or data))

    def _text(self, at: int, content: int, data: Json) -> Iterator[Delta]:
        if (at, content) not in self._open:
            item = {**self._items.get(at, {}), "status": "completed"}
            item.pop("content", None)
            part = read_part(data)
            if isinstance(part, Text):
                yield self._opened((at, content), Text(text="", extra={**part.extra, ITEM: item}))

    def _complete_part(self, key: tuple[int, int], part: Part) -> Iterator[Delta]:
        self._check_began()
        self._open[key] = _OpenPart(index=self._next, part=part, closed=True)
        self._next += 1
        yield from deltas_of_part(self._next - 1, part)

    def _opened(self, key: tuple[int, int], part: Part) -> PartOpened:
        self._check_began()
        self._open[key] = _OpenPart(index=self._next, part=part)
        self._next += 1
        return PartOpened(index=self._next - 1, part=part)

    def _check_began(self) -> None:
        if not self._began:
            raise Malformed("an item came before response.created")

    def _grown(self, key: tuple[int, int], **fields: Any) -> PartGrew:
        open_part = self._open.get(key)
        if open_part is None or open_part.closed:
            raise Malformed(f"item {key[0]} grows, but is not open")
        open_part.grown = True
        return PartGrew(index=open_part.index, **fields)

    def _closed(self, key: tuple[int, int]) -> Iterator[Delta]:
        open_part = self._open.get(key)
        if open_part is not None and not open_part.closed:
            open_part.closed = True
            yield PartClosed(index=open_part.index)


def _index_field(data: Json, key: str) -> int:
    return maybe_count(data, key) or 0
