"""Writes streamed responses of the chat dialect."""

from __future__ import annotations

from typing import Any

from demeanor.core.values.exchange import Request, StopReason, Usage
from demeanor.core.values.messages import Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.conversions import is_refusal
from demeanor.gateway.dialects.json_reader import Json, own_fields
from demeanor.gateway.dialects.openai_chat.request import wants_usage
from demeanor.gateway.dialects.openai_chat.response import error_body, new_response, write_stop, write_usage
from demeanor.gateway.dialects.openai_chat.thinking import ENCRYPTED, FIELD, NAME, SUMMARY, TEXT
from demeanor.gateway.dialects.sse import event
from demeanor.gateway.dialects.stream_events import (
    Began,
    Delta,
    Finished,
    Interrupted,
    PartClosed,
    PartGrew,
    PartOpened,
)
from demeanor.gateway.dialects.stream_writer import SummarySeparator


class ChatWriter:
    """Writes one streamed response."""

    content_type = "text/event-stream"

    def __init__(self, request: Request) -> None:
        self._wants_usage = wants_usage(request)
        self._head = new_response(
            ids.generated("chatcmpl-", request.model, len(request.messages)), "chat.completion.chunk"
        )
        self._head["model"] = request.model
        self._began = self._broke = False
        self._parts: dict[int, Part] = {}
        self._indexes: dict[int, int] = {}
        self._calls = 0
        self._without_arguments: set[int] = set()
        self._finished: Finished | None = None
        self._stopped = False
        self._usage: Usage | None = None
        self._separator = SummarySeparator()

    def write(self, delta: Delta) -> bytes:
        """The chunks for this delta."""
        output = b""
        if not self._began:
            output = self._begin(delta if isinstance(delta, Began) else Began())
        if isinstance(delta, PartGrew):
            return output + self._grow(delta)
        if isinstance(delta, PartOpened):
            return output + self._open(delta)
        if isinstance(delta, PartClosed):
            return output + self._close_call(delta.index)
        if isinstance(delta, Finished):
            return output + self._finish(delta)
        if isinstance(delta, Interrupted):
            self._broke = True
            return output + event(error_body(delta.error))
        return output

    def close(self) -> bytes:
        """The usage, if requested, and the end; empty for a response that broke off."""
        if self._broke or self._finished is None:
            return b""
        output = b"" if self._stopped else self._stop(StopReason.UNKNOWN)
        if self._wants_usage:
            output += event({**self._head, "choices": [], "usage": write_usage(self._usage or Usage())})
        return output + b"data: [DONE]\n\n"

    def _begin(self, began: Began) -> bytes:
        self._began = True
        self._head.update(own_fields(began.extra, NAME))
        self._head["id"] = began.id or self._head["id"]
        self._head["model"] = began.model or self._head["model"]
        return self._chunk({"role": "assistant", "content": ""})

    def _open(self, opened: PartOpened) -> bytes:
        part = opened.part
        self._parts[opened.index] = part
        if isinstance(part, ToolCall):
            self._indexes[opened.index] = self._calls
            self._calls += 1
            self._without_arguments |= set() if part.raw else {opened.index}
            function = {"name": part.name, "arguments": part.raw}
            call: Json = {
                "index": self._calls - 1,
                "id": ids.for_chat(part.id),
                "type": "function",
                "function": function,
            }
            if part.signature:
                call["extra_content"] = {"google": {"thought_signature": part.signature}}
            return self._chunk({"tool_calls": [call]})
        if isinstance(part, Thinking):
            self._indexes[opened.index] = sum(isinstance(other, Thinking) for other in self._parts.values()) - 1
            whole = PartGrew(
                index=opened.index,
                text=part.text,
                summary="\n\n".join(part.summary),
                signature=part.signature,
                encrypted=part.encrypted,
            )
            return self._grow(whole)
        return self._grow(PartGrew(index=opened.index, text=part.text)) if isinstance(part, Text) else b""

    def _grow(self, grown: PartGrew) -> bytes:
        part = self._parts.get(grown.index)
        if isinstance(part, ToolCall):
            call: Json = {"index": self._indexes[grown.index]}
            if grown.text:
                self._without_arguments.discard(grown.index)
                call["function"] = {"arguments": grown.text}
            if grown.signature:
                call["extra_content"] = {"google": {"thought_signature": grown.signature}}
            return self._chunk({"tool_calls": [call]}) if len(call) > 1 else b""
        if isinstance(part, Thinking):
            return self._think(part, self._indexes[grown.index], grown)
        field = "refusal" if part is not None and is_refusal(part) else "content"
        return self._chunk({field: grown.text}) if grown.text else b""

    def _close_call(self, index: int) -> bytes:
        """Clients parse the arguments of every call, so a call without any needs an empty object."""
        return self._grow(PartGrew(index=index, text="{}")) if index in self._without_arguments else b""

    def _think(self, part: Thinking, index: int, grown: PartGrew) -> bytes:
        if FIELD in part.extra:
            return self._chunk({part.extra[FIELD]: grown.text}) if grown.text else b""
        base: Json = {"format": "unknown", "index": index, **own_fields(part.extra, NAME)}
        details = []
        if grown.text or grown.signature:
            fields = {"text": grown.text, "signature": grown.signature}
            details.append({"type": TEXT, **base, **{key: value for key, value in fields.items() if value}})
        summary = self._separator.text(grown)
        if summary:
            details.append({"type": SUMMARY, **base, "summary": summary})
        if grown.encrypted:
            details.append({"type": ENCRYPTED, **base, "data": grown.encrypted})
        if not details:
            return b""
        if part.id is not None:
            details = [{**entry, "id": part.id} for entry in details]
        delta: Json = {"reasoning_details": details}
        if grown.text or summary:
            delta["reasoning_content"] = grown.text or summary
        return self._chunk(delta)

    def _finish(self, finished: Finished) -> bytes:
        self._finished = finished
        self._usage = finished.usage or self._usage
        return b"" if self._stopped or finished.stop is None else self._stop(finished.stop)

    def _stop(self, stop: StopReason) -> bytes:
        self._stopped = True
        output = b"".join(self._close_call(index) for index in sorted(self._without_arguments))
        refused = any(map(is_refusal, self._parts.values()))
        return output + self._chunk({}, write_stop(stop, calls=self._calls > 0, refused=refused))

    def _chunk(self, delta: Json, stop: str | None = None) -> bytes:
        choice: Any = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": stop}
        chunk = {**self._head, "choices": [choice]}
        return event({**chunk, "usage": None} if self._wants_usage else chunk)
