"""Reads streamed responses of the chat dialect: chunks with deltas, then `[DONE]`."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from demeanor.core.values.exchange import Usage
from demeanor.core.values.messages import Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.conversions import REFUSAL, is_refusal
from demeanor.gateway.dialects.errors import choice_error, embedded_error, stream_error
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_count,
    maybe_list,
    maybe_object,
    maybe_string,
    parse_object,
    require_object,
)
from demeanor.gateway.dialects.openai_chat.message import is_custom, signature_of
from demeanor.gateway.dialects.openai_chat.response import read_stop, read_usage
from demeanor.gateway.dialects.openai_chat.thinking import ENCRYPTED, FIELD, NAME, PLAIN
from demeanor.gateway.dialects.sse import Event
from demeanor.gateway.dialects.stream_events import Began, Delta, Finished, PartClosed, PartGrew, PartOpened
from demeanor.gateway.dialects.stream_reader import EventReader
from demeanor.gateway.dialects.strict_json import compact

DONE = b"[DONE]"


def _text(delta: Json) -> str:
    content = delta.get("content")
    if not isinstance(content, list):
        return maybe_string(delta, "content") or ""
    return "".join(maybe_string(require_object(part, "content"), "text") or "" for part in content)


@dataclass(slots=True)
class _StreamedCall:
    """A tool call that is being received."""

    id: str = ""
    name: str = ""
    pending: str = ""
    custom: bool = False
    index: int | None = None


@dataclass(slots=True)
class _StreamState:
    """What a stream has contained so far."""

    began: bool = False
    parts: int = 0
    text: int | None = None
    refusal: bool = False
    thoughts: dict[object, int] = field(default_factory=dict)
    calls: dict[int, _StreamedCall] = field(default_factory=dict)
    stop: str | None = None
    usage: Usage | None = None
    refused: bool = False


class ChatReader(EventReader):
    """Reads one streamed response."""

    def __init__(self) -> None:
        super().__init__()
        self._state = _StreamState()
        self._response_id = ""

    def read_event(self, event: Event) -> Iterator[Delta]:
        """The deltas of one chunk."""
        if event.data.strip() == DONE:
            self.done = True
            yield from self._finish()
            return
        chunk = parse_object(event.data)
        if chunk.get("error"):
            yield self.fail(embedded_error(chunk))
            return
        if not self._state.began:
            self._state.began = True
            self._response_id = maybe_string(chunk, "id") or ""
            extra = {key: chunk[key] for key in chunk if key not in {"choices", "usage", "object"}}
            yield Began(id=maybe_string(chunk, "id"), model=maybe_string(chunk, "model"), extra={NAME: extra})
        for choice in maybe_list(chunk, "choices"):
            if not require_object(choice, "choices").get("index"):
                yield from self._read_delta(maybe_object(choice, "delta"))
                if error := choice_error(choice):
                    yield self.fail(error)
                    return
                self._state.stop = maybe_string(choice, "finish_reason") or self._state.stop
                self._count(choice)
        self._count(chunk)

    def _count(self, data: Json) -> None:
        """Token counts; some servers send them in the last choice."""
        if data.get("usage"):
            self._state.usage = read_usage(maybe_object(data, "usage"))

    def at_end(self) -> Iterator[Delta]:
        """The stream ended without `[DONE]`, which some servers never send."""
        yield from self._finish()

    def _finish(self) -> Iterator[Delta]:
        state = self._state
        if not state.began or state.stop is None:
            problem = "ended without a finish_reason" if state.began else "is empty"
            yield self.fail(stream_error(f"the stream {problem}", cut=True))
            return
        yield from self._close_prose()
        for call in state.calls.values():
            call.pending += '"}' if call.custom else ""
            yield from self._open_call(call)
            yield from self._closed(call)
        yield Finished(stop=read_stop(state.stop, calls=bool(state.calls), refused=state.refused), usage=state.usage)

    def _read_delta(self, delta: Json) -> Iterator[Delta]:
        details = maybe_list(delta, "reasoning_details")
        for entry in details:
            yield from self._read_detail(require_object(entry, "reasoning_details"))
        for plain in () if details else PLAIN:
            thought = maybe_string(delta, plain)
            if thought:
                index = yield from self._thought(plain, Thinking(extra={FIELD: plain}))
                yield PartGrew(index=index, text=thought)
                break
        yield from self._read_text(_text(delta), Text(text=""))
        yield from self._read_text(maybe_string(delta, "refusal") or "", Text(text="", extra={REFUSAL: True}))
        for call in maybe_list(delta, "tool_calls"):
            yield from self._read_call(require_object(call, "tool_calls"))
        if legacy := maybe_object(delta, "function_call"):
            yield from self._read_call({"function": legacy})

    def _read_text(self, text: str, part: Text) -> Iterator[Delta]:
        if not text:
            return
        state, refusal = self._state, is_refusal(part)
        if state.text is None or state.refusal is not refusal:
            yield from self._close_prose()
            state.text, state.refusal, state.refused = self._next(), refusal, state.refused or refusal
            yield PartOpened(index=state.text, part=part)
        yield PartGrew(index=state.text, text=text)

    def _read_detail(self, entry: Json) -> Iterator[Delta]:
        kind = maybe_string(entry, "type")
        kept = {key: entry[key] for key in ("type", "format", "index") if key in entry}
        fields = {key: maybe_string(entry, key) for key in ("text", "summary", "data", "signature", "id")}
        if kind == ENCRYPTED and not fields["data"]:
            return
        opened = Thinking(id=fields["id"], extra={NAME: kept})
        # encrypted reasoning comes whole, and several thoughts may have the same index
        key = self._state.parts if kind == ENCRYPTED else (kind, str(entry.get("index")))
        index = yield from self._thought(key, opened)
        yield PartGrew(
            index=index,
            text=fields["text"] or "",
            summary=fields["summary"] or "",
            signature=fields["signature"],
            encrypted=fields["data"],
        )

    def _thought(self, key: object, opened: Thinking) -> Generator[Delta, None, int]:
        state = self._state
        if key not in state.thoughts:
            yield from self._close_text()
            state.thoughts[key] = self._next()
            yield PartOpened(index=state.thoughts[key], part=opened)
        return state.thoughts[key]

    def _read_call(self, data: Json) -> Iterator[Delta]:
        function = maybe_object(data, "function") or maybe_object(data, "custom")
        call_id, name = maybe_string(data, "id") or "", maybe_string(function, "name") or ""
        call = yield from self._find(maybe_count(data, "index"), call_id, name)
        call.id = call.id or call_id
        call.name = call.name or name
        call.custom = call.custom or is_custom(data)
        if call.custom:
            text = compact(maybe_string(function, "input") or "")[1:-1]
            call.pending += text if call.index is not None or call.pending else '{"input":"' + text
        else:
            call.pending += maybe_string(function, "arguments") or ""
        if call.name:
            yield from self._open_call(call, signature_of(data))

    def _find(self, position: int | None, call_id: str, name: str) -> Generator[Delta, None, _StreamedCall]:
        """The call that a fragment belongs to. Some servers send wrong indexes or none, so the id decides."""
        calls = self._state.calls
        if position is None:
            position = next((at for at, call in calls.items() if call_id and call.id == call_id), None)
        if position is None:
            position = len(calls) if call_id or name or not calls else next(reversed(calls))
        call = calls.get(position)
        if call is not None and call_id and call.id and call_id != call.id and name:
            yield from self._open_call(call)
            calls[-1 - len(calls)] = calls.pop(position)
            call = None
        if call is None:
            call = calls[position] = _StreamedCall()
        return call

    def _open_call(self, call: _StreamedCall, signature: str | None = None) -> Iterator[Delta]:
        if call.index is None:
            yield from self._close_prose()
            call.index = self._next()
            call.id = call.id or ids.generated("call_", self._response_id, call.index)
            extra = {NAME: {"type": "custom"}} if call.custom else {}
            opened = ToolCall(id=call.id, name=call.name, arguments={}, signature=signature, extra=extra)
            yield PartOpened(index=call.index, part=opened)
        if call.pending:
            yield PartGrew(index=call.index, text=call.pending)
            call.pending = ""

    def _closed(self, call: _StreamedCall) -> Iterator[Delta]:
        if call.index is not None:
            yield PartClosed(index=call.index)

    def _close_prose(self) -> Iterator[Delta]:
        for index in self._state.thoughts.values():
            yield PartClosed(index=index)
        self._state.thoughts.clear()
        yield from self._close_text()

    def _close_text(self) -> Iterator[Delta]:
        if self._state.text is not None:
            yield PartClosed(index=self._state.text)
            self._state.text = None

    def _next(self) -> int:
        self._state.parts += 1
        return self._state.parts - 1
