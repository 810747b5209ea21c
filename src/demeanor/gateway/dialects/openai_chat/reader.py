"""Reads streamed answers of the chat format: chunks with deltas, then `[DONE]`."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

from demeanor.core.exchange import ProviderError, StopReason, Usage
from demeanor.core.messages import Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.json_reader import Json, inner, items, mapping, maybe_count, maybe_string, parse_object
from demeanor.gateway.dialects.openai_chat.message import signature_of
from demeanor.gateway.dialects.openai_chat.response import read_stop, read_usage
from demeanor.gateway.dialects.openai_chat.thinking import ENCRYPTED, FIELD, NAME, PLAIN
from demeanor.gateway.dialects.refusal import broken, message_in, reason_of
from demeanor.gateway.dialects.sse import Event
from demeanor.gateway.dialects.stream_events import Began, Delta, Finished, PartClosed, PartGrew, PartOpened
from demeanor.gateway.dialects.stream_reader import EventReader

DONE = b"[DONE]"
_FAILURE = re.compile(r"[45]\d\d", re.ASCII)


def read_stream_error(error: Any) -> ProviderError:
    """An error told in the middle of a stream."""
    code = str(error.get("code")) if isinstance(error, dict) else ""
    status = int(code) if _FAILURE.fullmatch(code) else 500
    return ProviderError(status=status, reason=reason_of(status), message=message_in(error))


def _text(delta: Json) -> str:
    content = delta.get("content")
    if not isinstance(content, list):
        return maybe_string(delta, "content") or ""
    return "".join(maybe_string(mapping(part, "content"), "text") or "" for part in content)


@dataclass(slots=True)
class _Call:
    """A tool call that is being told."""

    id: str = ""
    name: str = ""
    pending: str = ""
    index: int | None = None


@dataclass(slots=True)
class _Heard:
    """What a stream has said so far."""

    began: bool = False
    parts: int = 0
    text: int | None = None
    thoughts: dict[object, int] = field(default_factory=dict)
    calls: dict[int, _Call] = field(default_factory=dict)
    stop: str | None = None
    usage: Usage | None = None
    refused: bool = False


class ChatReader(EventReader):
    """Reads one streamed answer."""

    def __init__(self) -> None:
        super().__init__()
        self._heard = _Heard()
        self._answer = ""

    def take(self, event: Event) -> Iterator[Delta]:
        """What one chunk says."""
        if event.data.strip() == DONE:
            self.over = True
            yield from self._finish()
            return
        chunk = parse_object(event.data)
        if chunk.get("error"):
            yield self.broke(read_stream_error(chunk["error"]))
            return
        if not self._heard.began:
            self._heard.began = True
            self._answer = maybe_string(chunk, "id") or ""
            extra = {key: chunk[key] for key in chunk if key not in {"choices", "usage", "object"}}
            yield Began(id=maybe_string(chunk, "id"), model=maybe_string(chunk, "model"), extra={NAME: extra})
        for choice in items(chunk, "choices"):
            if not mapping(choice, "choices").get("index"):
                yield from self._read_delta(inner(choice, "delta"))
                self._heard.stop = maybe_string(choice, "finish_reason") or self._heard.stop
        if chunk.get("usage"):
            self._heard.usage = read_usage(inner(chunk, "usage"))

    def ended(self) -> Iterator[Delta]:
        """The stream ended without `[DONE]`, which some servers never send."""
        if self._heard.stop is None:
            yield self.broke(broken("the stream ended before the answer was complete", cut=True))
        else:
            yield from self._finish()

    def _finish(self) -> Iterator[Delta]:
        heard = self._heard
        if not heard.began:
            yield self.broke(broken("the stream said nothing at all", cut=True))
            return
        yield from self._close_prose()
        for call in heard.calls.values():
            yield from self._open_call(call)
            yield from self._closed(call)
        stop = read_stop(heard.stop, calls=bool(heard.calls))
        yield Finished(stop=StopReason.REFUSAL if heard.refused and stop is StopReason.END else stop, usage=heard.usage)

    def _read_delta(self, delta: Json) -> Iterator[Delta]:
        details = items(delta, "reasoning_details")
        for entry in details:
            yield from self._read_detail(mapping(entry, "reasoning_details"))
        for plain in () if details else PLAIN:
            thought = maybe_string(delta, plain)
            if thought:
                index = yield from self._thought(plain, Thinking(extra={FIELD: plain}))
                yield PartGrew(index=index, text=thought)
                break
        refusal = maybe_string(delta, "refusal") or ""
        self._heard.refused |= bool(refusal)
        yield from self._read_text(_text(delta) + refusal)
        for call in items(delta, "tool_calls"):
            yield from self._read_call(mapping(call, "tool_calls"))

    def _read_text(self, text: str) -> Iterator[Delta]:
        if not text:
            return
        heard = self._heard
        if heard.text is None:
            yield from self._close_prose()
            heard.text = self._next()
            yield PartOpened(index=heard.text, part=Text(text=""))
        yield PartGrew(index=heard.text, text=text)

    def _read_detail(self, entry: Json) -> Iterator[Delta]:
        kind = maybe_string(entry, "type")
        kept = {key: entry[key] for key in ("type", "format", "index") if key in entry}
        fields = {key: maybe_string(entry, key) for key in ("text", "summary", "data", "signature", "id")}
        if kind == ENCRYPTED and not fields["data"]:
            return
        opened = Thinking(id=fields["id"], extra={NAME: kept})
        index = yield from self._thought((kind, str(entry.get("index"))), opened)
        yield PartGrew(
            index=index,
            text=fields["text"] or "",
            summary=fields["summary"] or "",
            signature=fields["signature"],
            encrypted=fields["data"],
        )

    def _thought(self, key: object, opened: Thinking) -> Generator[Delta, None, int]:
        heard = self._heard
        if key not in heard.thoughts:
            yield from self._close_text()
            heard.thoughts[key] = self._next()
            yield PartOpened(index=heard.thoughts[key], part=opened)
        return heard.thoughts[key]

    def _read_call(self, data: Json) -> Iterator[Delta]:
        function = inner(data, "function")
        given, name = maybe_string(data, "id") or "", maybe_string(function, "name") or ""
        call = yield from self._find(maybe_count(data, "index"), given, name)
        call.id = call.id or given
        call.name = call.name or name
        call.pending += maybe_string(function, "arguments") or ""
        if call.name:
            yield from self._open_call(call, signature_of(data))

    def _find(self, place: int | None, given: str, name: str) -> Generator[Delta, None, _Call]:
        """The call that a piece belongs to. Some servers count wrong, or not at all, and only the id tells."""
        calls = self._heard.calls
        if place is None:
            place = next((at for at, call in calls.items() if given and call.id == given), None)
        if place is None:
            place = len(calls) if given or name or not calls else next(reversed(calls))
        found = calls.get(place)
        if found is not None and given and found.id and given != found.id and name:
            yield from self._open_call(found)
            calls[-1 - len(calls)] = calls.pop(place)
            found = None
        if found is None:
            found = calls[place] = _Call()
        return found

    def _open_call(self, call: _Call, signature: str | None = None) -> Iterator[Delta]:
        if call.index is None:
            yield from self._close_prose()
            call.index = self._next()
            call.id = call.id or ids.made("call_", self._answer, call.index)
            opened = ToolCall(id=call.id, name=call.name, arguments={}, signature=signature)
            yield PartOpened(index=call.index, part=opened)
        if call.pending:
            yield PartGrew(index=call.index, text=call.pending)
            call.pending = ""

    def _closed(self, call: _Call) -> Iterator[Delta]:
        if call.index is not None:
            yield PartClosed(index=call.index)

    def _close_prose(self) -> Iterator[Delta]:
        for index in self._heard.thoughts.values():
            yield PartClosed(index=index)
        self._heard.thoughts.clear()
        yield from self._close_text()

    def _close_text(self) -> Iterator[Delta]:
        if self._heard.text is not None:
            yield PartClosed(index=self._heard.text)
            self._heard.text = None

    def _next(self) -> int:
        self._heard.parts += 1
        return self._heard.parts - 1
