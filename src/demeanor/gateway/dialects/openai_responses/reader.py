"""Reads streamed answers of the Responses format: items that open, grow and close, then the whole answer once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from demeanor.core.exchange import ProviderError
from demeanor.core.messages import Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.json_reader import Json, inner, items, maybe_count, maybe_string, parse_object, string
from demeanor.gateway.dialects.openai_responses.content import NAME, read_part
from demeanor.gateway.dialects.openai_responses.items import is_call, read_call, read_reasoning
from demeanor.gateway.dialects.openai_responses.response import ITEM, read_item, read_stop, read_usage
from demeanor.gateway.dialects.refusal import broken, message_in, reason_of
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

_STATUS = {"rate_limit_exceeded": 429, "insufficient_quota": 429, "invalid_prompt": 400, "server_is_overloaded": 503}


@dataclass(slots=True)
class _Open:
    """A part that is being told."""

    index: int
    part: Part
    grown: bool = False
    closed: bool = False


class ResponsesReader(EventReader):
    """Reads one streamed answer."""

    def __init__(self) -> None:
        super().__init__()
        self._began = self._called = False
        self._next = 0
        self._items: dict[int, Json] = {}
        self._open: dict[tuple[int, int], _Open] = {}
        self._events: dict[str, Callable[[Json], Iterator[Delta]]] = {
            "response.created": self._begin,
            "response.output_item.added": self._add_item,
            "response.content_part.added": self._add_content,
            "response.output_text.delta": self._grow_text,
            "response.refusal.delta": self._grow_text,
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

    def take(self, event: Event) -> Iterator[Delta]:
        """What one event says; what is not known is passed over."""
        if event.data.strip() == b"[DONE]":
            return
        data = parse_object(event.data)
        tell = self._events.get(maybe_string(data, "type") or event.name)
        if tell is not None:
            yield from tell(data)

    def ended(self) -> Iterator[Delta]:
        """The stream ended without a last word."""
        yield self.broke(broken("the stream ended before the answer was complete", cut=True))

    def _begin(self, data: Json) -> Iterator[Delta]:
        if not self._began:
            self._began = True
            response = inner(data, "response")
            extra = {key: value for key, value in response.items() if key != "output"}
            yield Began(id=maybe_string(response, "id"), model=maybe_string(response, "model"), extra={NAME: extra})

    def _add_item(self, data: Json) -> Iterator[Delta]:
        at, item = _place(data, "output_index"), inner(data, "item")
        if at in self._items:
            raise Malformed(f"output_index: item {at} comes twice")
        self._items[at] = item
        if item.get("type") == "reasoning":
            thought = read_reasoning(item)
            yield self._opened((at, 0), Thinking(id=thought.id, extra=thought.extra))
        elif is_call(item):
            self._called = True
            call = read_call(item)
            yield self._opened((at, 0), replace(call, arguments={}, raw=""))

    def _add_content(self, data: Json) -> Iterator[Delta]:
        at = _place(data, "output_index")
        if self._items.get(at, {}).get("type") == "message":
            yield from self._text(at, _place(data, "content_index"), inner(data, "part"))

    def _grow_text(self, data: Json) -> Iterator[Delta]:
        at, content = _place(data, "output_index"), _place(data, "content_index")
        yield from self._text(at, content, {"type": "output_text", "text": ""})
        yield self._grown((at, content), text=string(data, "delta"))

    def _grow_summary(self, data: Json) -> Iterator[Delta]:
        key = (_place(data, "output_index"), 0)
        yield self._grown(key, summary=string(data, "delta"), place=_place(data, "summary_index"))

    def _grow_thought(self, data: Json) -> Iterator[Delta]:
        yield self._grown((_place(data, "output_index"), 0), text=string(data, "delta"))

    def _grow_call(self, data: Json) -> Iterator[Delta]:
        at, text = _place(data, "output_index"), string(data, "delta")
        if self._items.get(at, {}).get("type") == "custom_tool_call":
            opening = '{"input":"' if (at, 0) in self._open and not self._open[at, 0].grown else ""
            text = opening + compact(text)[1:-1]
        yield self._grown((at, 0), text=text)

    def _close_content(self, data: Json) -> Iterator[Delta]:
        yield from self._closed((_place(data, "output_index"), _place(data, "content_index")))

    def _end_item(self, data: Json) -> Iterator[Delta]:
        """The whole item once more: whatever was not told in pieces is told now."""
        at, item = _place(data, "output_index"), inner(data, "item")
        if at not in self._items:
            self._items[at] = item
            for content, part in enumerate(read_item(item)):
                yield from self._whole((at, content), part)
            return
        if is_call(item):
            yield from self._end_call((at, 0), item)
        elif item.get("type") == "reasoning":
            yield from self._end_reasoning((at, 0), item)
        elif item.get("type") == "message":
            for content, part in enumerate(read_item(item)):
                if (at, content) not in self._open:
                    yield from self._whole((at, content), part)
                yield from self._closed((at, content))
        else:
            for content, part in enumerate(read_item(item)):
                yield from self._whole((at, content), part)

    def _end_call(self, key: tuple[int, int], item: Json) -> Iterator[Delta]:
        told = self._open.get(key)
        if told is not None and not told.closed:
            whole = read_call(item)
            rest = '"}' if item.get("type") == "custom_tool_call" else ""
            yield self._grown(key, text=rest if told.grown else whole.raw, extra=whole.extra)
            yield from self._closed(key)

    def _end_reasoning(self, key: tuple[int, int], item: Json) -> Iterator[Delta]:
        told = self._open.get(key)
        thought = read_reasoning(item)
        if told is None or told.closed:
            return
        if not told.grown:
            for place, summary in enumerate(thought.summary):
                yield self._grown(key, summary=summary, place=place)
            yield self._grown(key, text=thought.text)
        yield self._grown(key, encrypted=thought.encrypted, extra=thought.extra)
        yield from self._closed(key)

    def _finish(self, data: Json) -> Iterator[Delta]:
        self.over = True
        yield from self._begin(data)
        response = inner(data, "response")
        if not self._items:
            for at, item in enumerate(items(response, "output")):
                yield from self._end_item({"output_index": at, "item": item})
        for key in list(self._open):
            yield from self._closed(key)
        extra = {key: value for key, value in response.items() if key != "output"}
        stop = read_stop(response, calls=self._called)
        yield Finished(stop=stop, usage=read_usage(inner(response, "usage")), extra={NAME: extra})

    def _fail(self, data: Json) -> Iterator[Delta]:
        error: Any = inner(data, "response").get("error") or data.get("error") or data
        code = error.get("code") if isinstance(error, dict) else None
        status = _STATUS.get(str(code), 500)
        yield self.broke(ProviderError(status=status, reason=reason_of(status), message=message_in(error)))

    def _text(self, at: int, content: int, data: Json) -> Iterator[Delta]:
        if (at, content) not in self._open:
            item = {**self._items.get(at, {}), "status": "completed"}
            item.pop("content", None)
            part = read_part(data)
            if isinstance(part, Text):
                yield self._opened((at, content), Text(text="", extra={**part.extra, ITEM: item}))

    def _whole(self, key: tuple[int, int], part: Part) -> Iterator[Delta]:
        self._refuse_early()
        self._called = self._called or isinstance(part, ToolCall)
        self._open[key] = _Open(index=self._next, part=part, closed=True)
        self._next += 1
        yield from deltas_of_part(self._next - 1, part)

    def _opened(self, key: tuple[int, int], part: Part) -> PartOpened:
        self._refuse_early()
        self._open[key] = _Open(index=self._next, part=part)
        self._next += 1
        return PartOpened(index=self._next - 1, part=part)

    def _refuse_early(self) -> None:
        if not self._began:
            raise Malformed("an item came before response.created")

    def _grown(self, key: tuple[int, int], **fields: Any) -> PartGrew:
        told = self._open.get(key)
        if told is None or told.closed:
            raise Malformed(f"item {key[0]} grows, but is not open")
        told.grown = True
        return PartGrew(index=told.index, **fields)

    def _closed(self, key: tuple[int, int]) -> Iterator[Delta]:
        told = self._open.get(key)
        if told is not None and not told.closed:
            told.closed = True
            yield PartClosed(index=told.index)


def _place(data: Json, key: str) -> int:
    return maybe_count(data, key) or 0
