"""Writes streamed responses of the Gemini dialect."""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.exchange import ProviderError, Request
from demeanor.core.messages import Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.gemini.errors import error_body
from demeanor.gateway.dialects.gemini.parts import NAME, write_part
from demeanor.gateway.dialects.gemini.request import FRAMING
from demeanor.gateway.dialects.gemini.response import USAGE, write_response_part, write_stop, write_usage
from demeanor.gateway.dialects.json_reader import Json, to_json
from demeanor.gateway.dialects.sse import event
from demeanor.gateway.dialects.stream_events import Began, PartGrew
from demeanor.gateway.dialects.stream_writer import PartWriter
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
        self._written = 0
        self._raw_arguments: list[str] = []

    def close(self) -> bytes:
        """Stop reason and usage; neither for a response that broke off."""
        output = b""
        if self.complete:
            output = self._piece([{"text": ""}], finishReason=write_stop(self._stop))
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
            thinking = replace(part, text=grown.text or grown.summary, summary=())
            return self._write_part(replace(thinking, signature=grown.signature, encrypted=grown.encrypted))
        return self._write_part(Text(text=grown.text, extra=grown.extra))

    def close_part(self) -> bytes:
        """The whole call; nothing for other parts."""
        part = self._part
        if not isinstance(part, ToolCall):
            return b""
        raw = "".join(self._raw_arguments)
        return self._write_part(replace(part, raw=raw, arguments=arguments(raw)))

    def fail(self, error: ProviderError) -> bytes:
        """The error as a piece of its own."""
        return self._send(error_body(error))

    def _write_part(self, part: Part) -> bytes:
        if _is_empty(part):
            return b""
        parts = write_part(part) if self._same_dialect else write_response_part(part)
        return self._piece(parts) if parts else b""

    def _piece(self, parts: list[Json], **fields: str) -> bytes:
        candidate: Json = {"content": {"parts": parts, "role": "model"}, **fields, "index": 0}
        data: Json = {"candidates": [candidate]}
        if fields:
            data[USAGE] = write_usage(self._usage)
        return self._send({**data, **self._head})

    def _send(self, data: Json) -> bytes:
        self._written += 1
        if not self._array:
            return event(data)
        return (b"[" if self._written == 1 else b",\r\n") + to_json(data)


def _is_empty(part: Part) -> bool:
    if isinstance(part, Thinking):
        return not (part.text or part.summary or part.signature or part.encrypted)
    return isinstance(part, Text) and not part.text and not part.extra.get(NAME)
