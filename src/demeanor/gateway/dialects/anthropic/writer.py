"""Writes streamed responses of the Anthropic dialect."""

from __future__ import annotations

from demeanor.core.values.exchange import ProviderError, Request
from demeanor.core.values.messages import Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.anthropic.blocks import NAME, redacted_thinking, write_blocks, write_call
from demeanor.gateway.dialects.anthropic.response import error_body, new_message, read_stop, write_stop, write_usage
from demeanor.gateway.dialects.json_reader import Json, own_fields
from demeanor.gateway.dialects.sse import event
from demeanor.gateway.dialects.stream_events import Began, Finished, PartGrew
from demeanor.gateway.dialects.stream_writer import PartWriter, SummarySeparator


class AnthropicWriter(PartWriter):
    """Writes one streamed response, one block after the other."""

    content_type = "text/event-stream"

    def __init__(self, request: Request) -> None:
        super().__init__()
        self._model = request.model
        self._id = ids.generated("msg_", request.model, len(request.messages))
        self._called = False
        self._blocks = 0
        self._block: Json | None = None
        self._signature = self._encrypted = ""
        self._separator = SummarySeparator()
        self._fields: Json = {}

    def close(self) -> bytes:
        """The end of the stream; empty for a response that broke off."""
        if not self.complete:
            return b""
        word = self._fields.get("stop_reason")
        if word is None or read_stop(word, calls=self._called) != self._stop:
            word = write_stop(self._stop, calls=self._called)
        delta = {"stop_reason": word, "stop_sequence": self._fields.get("stop_sequence")}
        usage = write_usage(self._usage)
        end = event({"type": "message_delta", "delta": delta, "usage": usage}, "message_delta")
        return end + event({"type": "message_stop"}, "message_stop")

    def begin(self, began: Began) -> bytes:
        """The message_start event."""
        message = {**new_message(began.id or self._id, began.model or self._model), **own_fields(began.extra, NAME)}
        message.update({"content": [], "stop_reason": None, "stop_sequence": None})
        return event({"type": "message_start", "message": message}, "message_start")

    def open(self, part: Part) -> bytes:
        """The events that start a block; a thought starts one when it has content."""
        self._block = None
        if isinstance(part, Text):
            output = self._start({"type": "text", **own_fields(part.extra, NAME), "text": ""})
            return output + self._delta("text_delta", "text", part.text)
        if isinstance(part, ToolCall):
            self._called = True
            output = b""
            if part.signature:
                output = self._start(redacted_thinking(part.signature)) + self._end()
            output += self._start({**write_call(part), "input": {}})
            return output + self._delta("input_json_delta", "partial_json", part.raw)
        if isinstance(part, Thinking):
            output = self._add_thinking("\n\n".join(part.summary)) + self._add_thinking(part.text)
            self._signature, self._encrypted = part.signature or "", part.encrypted or ""
            return output
        blocks = write_blocks([part], to_model=False)
        return self._start(blocks[0]) if blocks else b""

    def grow(self, grown: PartGrew) -> bytes:
        """The delta event for the open block."""
        if isinstance(self._part, ToolCall):
            return self._delta("input_json_delta", "partial_json", grown.text)
        if isinstance(self._part, Thinking):
            self._signature = grown.signature or self._signature
            self._encrypted += grown.encrypted or ""
            return self._add_thinking(self._separator.text(grown)) + self._add_thinking(grown.text)
        return self._delta("text_delta", "text", grown.text)

    def close_part(self) -> bytes:
        """The end of the block."""
        output = self._add_signature() if isinstance(self._part, Thinking) else b""
        return output + (self._end() if self._block is not None else b"")

    def finish(self, finished: Finished) -> None:
        """Keep the provider's own fields for the last event."""
        self._fields.update(own_fields(finished.extra, NAME))

    def fail(self, error: ProviderError) -> bytes:
        """An error event."""
        return event(error_body(error), "error")

    def _add_signature(self) -> bytes:
        """Signature or encrypted reasoning come last: in the thinking block, or in a block of their own."""
        if self._block is None and self._encrypted:
            return self._start(redacted_thinking(self._encrypted))
        token = self._signature or self._encrypted
        return self._add_thinking("", always=bool(token)) + self._delta("signature_delta", "signature", token)

    def _add_thinking(self, text: str, *, always: bool = False) -> bytes:
        if not text and not always:
            return b""
        output = b"" if self._block else self._start({"type": "thinking", "thinking": "", "signature": ""})
        return output + self._delta("thinking_delta", "thinking", text)

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
