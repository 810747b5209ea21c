"""Writes streamed responses of the Gemini dialect."""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.values.exchange import ProviderError, Request
from demeanor.core.values.messages import Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.gemini.parts import NAME, write_part
from demeanor.gateway.dialects.gemini.request import FRAMING
from demeanor.gateway.dialects.gemini.response import (
    CANDIDATE,
    USAGE,
    error_body,
    read_stop,
    read_usage,
    write_response_part,
    write_stop,
    write_usage,
)
from demeanor.gateway.dialects.json_reader import Json, maybe_object, own_fields, to_json
from demeanor.gateway.dialects.sse import event
from demeanor.gateway.dialects.stream_events import Began, Finished, PartGrew
from demeanor.gateway.dialects.stream_writer import PartWriter, SummarySeparator
from demeanor.gateway.dialects.strict_json import arguments


class GeminiWriter(PartWriter):
    """Writes one streamed response. A tool call is written when it is complete, because it can't be split here."""

    def __init__(self, request: Request) -> None:
        super().__init__()
        self._array = request.extra.get(FRAMING) == "array"
        self.content_type = "application/json" if self._array else "text/event-stream"
        self._head: Json = {
            "modelVersion": request.model,
            "responseId": ids.generated("", request.model, len(request.messages)),
        }
        self._same_dialect = False
        self._separator = SummarySeparator()
        self._written = 0
        self._raw_arguments: list[str] = []
        self._called = False
        self._top: Json = {}
        self._candidate: Json = {}

    def close(self) -> bytes:
        """Stop reason and usage; neither for a response that broke off."""
        output = b""
        if self.complete:
            output = self._last_piece()
        return output + b"]" if self._array and self._written else output

    def begin(self, began: Began) -> bytes:
        """Nothing is sent yet: every piece repeats the head."""
        self._same_dialect = NAME in began.extra
        self._head["modelVersion"] = began.model or self._head["modelVersion"]
        self._head["responseId"] = began.id or self._head["responseId"]
        return b""

    def open(self, part: Part) -> bytes:
        """The first piece of a part; nothing for a call."""
        if isinstance(part, ToolCall):
            self._called = True
            self._raw_arguments = [part.raw]
            return b""
        return self._write_part(part)

    def grow(self, grown: PartGrew) -> bytes:
        """The next piece of a part; nothing for a call."""
        part = self._part
        if isinstance(part, ToolCall):
            self._raw_arguments.append(grown.text)
            if grown.signature:
                self._part = replace(part, signature=grown.signature)
            return b""
        if isinstance(part, Thinking):
            thinking = replace(part, text=grown.text or self._separator.text(grown), summary=())
            return self._write_part(replace(thinking, signature=grown.signature, encrypted=grown.encrypted))
        return self._write_part(Text(text=grown.text, extra=grown.extra))

    def close_part(self) -> bytes:
        """The whole call; nothing for other parts."""
        part = self._part
        if not isinstance(part, ToolCall):
            return b""
        raw = "".join(self._raw_arguments)
        return self._write_part(replace(part, raw=raw, arguments=arguments(raw)))

    def finish(self, finished: Finished) -> None:
        """Keep the provider's own fields for the last piece."""
        self._top = own_fields(finished.extra, NAME)
        self._candidate = own_fields(finished.extra, CANDIDATE)

    def fail(self, error: ProviderError) -> bytes:
        """The error as a piece of its own."""
        return self._send(error_body(error))

    def _write_part(self, part: Part) -> bytes:
        if _is_empty(part):
            return b""
        parts = write_part(part) if self._same_dialect else write_response_part(part)
        return self._piece(parts) if parts else b""

    def _piece(self, parts: list[Json]) -> bytes:
        return self._send({"candidates": [_candidate(parts)], **self._head})

    def _last_piece(self) -> bytes:
        """The stop reason and usage: in the provider's own words, if it is the same dialect."""
        candidate: Json = {**_candidate([{"text": ""}]), **self._candidate}
        if read_stop(self._top, self._candidate, calls=self._called) != self._stop or not self._candidate:
            candidate["finishReason"] = write_stop(self._stop)
        usage = maybe_object(self._top, USAGE)
        if read_usage(usage) != self._usage or not usage:
            usage = write_usage(self._usage)
        feedback = {key: self._top[key] for key in ("promptFeedback",) if key in self._top}
        candidates = {} if feedback and not self._candidate else {"candidates": [candidate]}
        return self._send({**feedback, **candidates, USAGE: usage, **self._head})

    def _send(self, data: Json) -> bytes:
        self._written += 1
        if not self._array:
            return event(data)
        return (b"[" if self._written == 1 else b",\r\n") + to_json(data)


def _candidate(parts: list[Json]) -> Json:
    return {"content": {"parts": parts, "role": "model"}, "index": 0}


def _is_empty(part: Part) -> bool:
    if isinstance(part, Thinking):
        return not (part.text or part.summary or part.signature or part.encrypted)
    return isinstance(part, Text) and not part.text and not part.extra.get(NAME)
