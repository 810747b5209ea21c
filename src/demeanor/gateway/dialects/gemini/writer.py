"""Writes streamed answers of the Gemini format."""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.exchange import Request, StopReason, Usage
from demeanor.core.messages import Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.gemini.parts import NAME, write_part
from demeanor.gateway.dialects.gemini.refusal import error_body
from demeanor.gateway.dialects.gemini.request import FRAMING
from demeanor.gateway.dialects.gemini.response import USAGE, write_answer_part, write_stop, write_usage
from demeanor.gateway.dialects.json_reader import Json, dump
from demeanor.gateway.dialects.part_order import InOrder
from demeanor.gateway.dialects.sse import event
from demeanor.gateway.dialects.stream_events import Began, Broke, Delta, Finished, PartClosed, PartGrew, PartOpened
from demeanor.gateway.dialects.strict_json import arguments


class GeminiWriter:
    """Tells one streamed answer. A tool call is told when it is complete, for here it has no pieces."""

    def __init__(self, request: Request) -> None:
        self._array = request.extra.get(FRAMING) == "array"
        self.content_type = "application/json" if self._array else "text/event-stream"
        self._head: Json = {
            "modelVersion": request.model,
            "responseId": ids.made("", request.model, len(request.messages)),
        }
        self._order = InOrder()
        self._began = self._broke = self._finished = self._ours = False
        self._written = 0
        self._part: Part | None = None
        self._text: list[str] = []
        self._stop = StopReason.UNKNOWN
        self._usage = Usage()

    def write(self, delta: Delta) -> bytes:
        """The pieces that tell this delta."""
        if isinstance(delta, Began):
            self._ours = NAME in delta.extra
            self._head["modelVersion"] = delta.model or self._head["modelVersion"]
            self._head["responseId"] = delta.id or self._head["responseId"]
            return b""
        return b"".join(self._tell(ready) for ready in self._order.take(delta))

    def close(self) -> bytes:
        """The reason to stop and the usage; an answer that broke off must not look complete."""
        told = b""
        if self._finished and not self._broke:
            told = self._piece([{"text": ""}], finishReason=write_stop(self._stop))
        return told + b"]" if self._array and self._written else told

    def _tell(self, delta: Delta) -> bytes:
        if isinstance(delta, PartGrew):
            return self._grow(delta)
        if isinstance(delta, PartOpened):
            self._part, self._text = delta.part, []
            if isinstance(delta.part, ToolCall):
                self._text = [delta.part.raw]
                return b""
            return self._say(delta.part)
        if isinstance(delta, PartClosed):
            return self._close_call()
        if isinstance(delta, Finished):
            self._finished = True
            self._stop = delta.stop or self._stop
            self._usage = delta.usage or self._usage
        elif isinstance(delta, Broke):
            self._broke = True
            return self._send(error_body(delta.error))
        return b""

    def _grow(self, grown: PartGrew) -> bytes:
        part = self._part
        if isinstance(part, ToolCall):
            self._text.append(grown.text)
            if grown.signature:
                self._part = replace(part, signature=grown.signature)
            return b""
        if isinstance(part, Thinking):
            thought = replace(part, text=grown.text or grown.summary, summary=())
            return self._say(replace(thought, signature=grown.signature, encrypted=grown.encrypted))
        return self._say(Text(text=grown.text, extra=grown.extra))

    def _close_call(self) -> bytes:
        part = self._part
        if not isinstance(part, ToolCall):
            return b""
        raw = "".join(self._text)
        return self._say(replace(part, raw=raw, arguments=arguments(raw)))

    def _say(self, part: Part) -> bytes:
        if _mute(part):
            return b""
        parts = write_part(part) if self._ours else write_answer_part(part)
        return self._piece(parts) if parts else b""

    def _piece(self, parts: list[Json], **fields: str) -> bytes:
        candidate: Json = {"content": {"parts": parts, "role": "model"}, **fields, "index": 0}
        told: Json = {"candidates": [candidate]}
        if fields:
            told[USAGE] = write_usage(self._usage)
        return self._send({**told, **self._head})

    def _send(self, data: Json) -> bytes:
        self._written += 1
        if not self._array:
            return event(data)
        return (b"[" if self._written == 1 else b",\r\n") + dump(data)


def _mute(part: Part) -> bool:
    if isinstance(part, Thinking):
        return not (part.text or part.summary or part.signature or part.encrypted)
    return isinstance(part, Text) and not part.text and not part.extra.get(NAME)
