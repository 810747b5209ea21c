"""Writes streamed answers of the Anthropic format."""

from __future__ import annotations

from demeanor.core.exchange import Request, StopReason, Usage
from demeanor.core.messages import Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.anthropic.blocks import NAME, redacted, write_blocks, write_call
from demeanor.gateway.dialects.anthropic.refusal import error_body
from demeanor.gateway.dialects.anthropic.response import head, read_stop, write_stop, write_usage
from demeanor.gateway.dialects.json_reader import Json, own
from demeanor.gateway.dialects.part_order import InOrder
from demeanor.gateway.dialects.sse import event
from demeanor.gateway.dialects.stream_events import Began, Broke, Delta, Finished, PartClosed, PartGrew, PartOpened


class AnthropicWriter:
    """Tells one streamed answer, one block after the other."""

    content_type = "text/event-stream"

    def __init__(self, request: Request) -> None:
        self._model = request.model
        self._id = ids.made("msg_", request.model, len(request.messages))
        self._order = InOrder()
        self._began = self._broke = self._finished = self._called = False
        self._blocks = 0
        self._part: Part | None = None
        self._block: Json | None = None
        self._signature = self._encrypted = ""
        self._place = 0
        self._stop = StopReason.UNKNOWN
        self._usage = Usage()
        self._fields: Json = {}

    def write(self, delta: Delta) -> bytes:
        """The events that tell this delta."""
        told = b""
        if not self._began:
            told = self._begin(delta if isinstance(delta, Began) else Began())
        return told + b"".join(self._tell(ready) for ready in self._order.take(delta))

    def close(self) -> bytes:
        """The end; an answer that broke off must not look complete."""
        if self._broke or not self._finished:
            return b""
        word = self._fields.get("stop_reason")
        if word is None or read_stop(word, calls=self._called) != self._stop:
            word = write_stop(self._stop, calls=self._called)
        delta = {"stop_reason": word, "stop_sequence": self._fields.get("stop_sequence")}
        usage = write_usage(self._usage)
        end = event({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
        return end + event({"type": "message_stop"}, "message_stop")

    def _tell(self, delta: Delta) -> bytes:
        if isinstance(delta, PartGrew):
            return self._grow(delta)
        if isinstance(delta, PartOpened):
            return self._open(delta.part)
        if isinstance(delta, PartClosed):
            return self._close()
        if isinstance(delta, Finished):
            self._finished = True
            self._stop = delta.stop or self._stop
            self._usage = delta.usage or self._usage
            self._fields.update(own(delta.extra, NAME))
        elif isinstance(delta, Broke):
            self._broke = True
            return event(error_body(delta.error), "error")
        return b""

    def _begin(self, began: Began) -> bytes:
        self._began = True
        opened = {**head(began.id or self._id, began.model or self._model), **own(began.extra, NAME)}
        opened.update({"content": [], "stop_reason": None, "stop_sequence": None})
        return event({"type": "message_start", "message": opened}, "message_start")

    def _open(self, part: Part) -> bytes:
        self._part, self._block, self._place = part, None, 0
        self._signature = self._encrypted = ""
        if isinstance(part, Text):
            told = self._start({"type": "text", **own(part.extra, NAME), "text": ""})
            return told + self._delta("text_delta", "text", part.text)
        if isinstance(part, ToolCall):
            self._called = True
            told = b""
            if part.signature:
                told = self._start(redacted(part.signature)) + self._end()
            told += self._start({**write_call(part), "input": {}})
            return told + self._delta("input_json_delta", "partial_json", part.raw)
        if isinstance(part, Thinking):
            told = b"".join(self._summarise(text, place) for place, text in enumerate(part.summary))
            told += self._think(part.text)
            self._signature, self._encrypted = part.signature or "", part.encrypted or ""
            return told
        blocks = write_blocks([part], to_model=False)
        return self._start(blocks[0]) if blocks else b""

    def _grow(self, grown: PartGrew) -> bytes:
        if isinstance(self._part, ToolCall):
            return self._delta("input_json_delta", "partial_json", grown.text)
        if isinstance(self._part, Thinking):
            self._signature = grown.signature or self._signature
            self._encrypted += grown.encrypted or ""
            return self._summarise(grown.summary, grown.place) + self._think(grown.text)
        return self._delta("text_delta", "text", grown.text)

    def _close(self) -> bytes:
        told = self._seal() if isinstance(self._part, Thinking) else b""
        return told + (self._end() if self._block is not None else b"")

    def _seal(self) -> bytes:
        """What only the provider can read comes last: with the readable thought, or alone."""
        if self._block is None and self._encrypted:
            return self._start(redacted(self._encrypted))
        token = self._signature or self._encrypted
        return self._think("", always=bool(token)) + self._delta("signature_delta", "signature", token)

    def _summarise(self, text: str, place: int) -> bytes:
        gap = "\n\n" if text and place != self._place else ""
        self._place = place if text else self._place
        return self._think(gap + text)

    def _think(self, text: str, *, always: bool = False) -> bytes:
        if not text and not always:
            return b""
        told = b"" if self._block else self._start({"type": "thinking", "thinking": "", "signature": ""})
        return told + self._delta("thinking_delta", "thinking", text)

    def _start(self, block: Json) -> bytes:
        self._block = block
        return event(
            {"type": "content_block_start", "index": self._blocks, "content_block": block}, "content_block_start"
        )

    def _delta(self, kind: str, field: str, text: str) -> bytes:
        if not text:
            return b""
        delta = {"type": kind, field: text}
        return event({"type": "content_block_delta", "index": self._blocks, "delta": delta}, "content_block_delta")

    def _end(self) -> bytes:
        self._block = None
        self._blocks += 1
        return event({"type": "content_block_stop", "index": self._blocks - 1}, "content_block_stop")
