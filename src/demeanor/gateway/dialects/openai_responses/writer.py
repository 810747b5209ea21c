"""Writes streamed responses of the OpenAI Responses dialect."""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.values.exchange import ProviderError, Request
from demeanor.core.values.messages import Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.conversions import is_refusal
from demeanor.gateway.dialects.json_reader import Json, own_fields
from demeanor.gateway.dialects.openai_responses.content import NAME
from demeanor.gateway.dialects.openai_responses.items import (
    reasoning_text,
    signature_item,
    summary_text,
    write_reasoning,
)
from demeanor.gateway.dialects.openai_responses.response import (
    ITEM,
    call_item,
    message_item,
    new_response,
    new_text,
    write_item,
    write_stop,
    write_usage,
)
from demeanor.gateway.dialects.openai_responses.tools import tools_by_name
from demeanor.gateway.dialects.sse import event
from demeanor.gateway.dialects.stream_events import Began, PartGrew
from demeanor.gateway.dialects.stream_writer import PartWriter
from demeanor.gateway.dialects.strict_json import arguments

_CODES = {"rate_limit": "rate_limit_exceeded", "bad_request": "invalid_prompt", "overloaded": "server_is_overloaded"}


class ResponsesWriter(PartWriter):
    """Writes one streamed response, one item after the other."""

    content_type = "text/event-stream"

    def __init__(self, request: Request) -> None:
        super().__init__()
        self._tools = tools_by_name(request.tools)
        self._response = new_response(ids.generated("resp_", request.model, len(request.messages)), request.model)
        self._number = -1
        self._parts: list[Part] = []
        self._items: list[Json] = []
        self._item: Json = {}
        self._text: list[str] = []
        self._summaries: list[str] = []
        self._signature = self._encrypted = ""

    def close(self) -> bytes:
        """The complete response; empty for one that broke off."""
        if not self.complete:
            return b""
        self._response.update(write_stop(self._stop, self._parts))
        self._response.update({"output": self._items, "usage": write_usage(self._usage)})
        return self._event(f"response.{self._response['status']}", response=self._response)

    def begin(self, began: Began) -> bytes:
        """The events that start the response."""
        self._response.update(own_fields(began.extra, NAME))
        self._response["id"] = began.id or self._response["id"]
        self._response["model"] = began.model or self._response["model"]
        self._response.update({"status": "in_progress", "output": [], "usage": None})
        output = self._event("response.created", response=self._response)
        return output + self._event("response.in_progress", response=self._response)

    def fail(self, error: ProviderError) -> bytes:
        """The failed response."""
        failure = {"code": _CODES.get(error.reason, "server_error"), "message": error.message}
        failed = {**self._response, "status": "failed", "error": failure, "output": self._items}
        return self._event("response.failed", response=failed)

    def open(self, part: Part) -> bytes:
        """The events that start an item."""
        self._parts.append(part)
        self._text, self._summaries = [], []
        self._signature = self._encrypted = ""
        seed = ids.digest(self._response["id"], len(self._items))
        output = b""
        if isinstance(part, Text):
            item_id = (part.extra.get(ITEM) or {}).get("id") or f"msg_{seed}"
            output = self._added(message_item(item_id, None))
            blank_text = new_text(replace(part, text=""))
            output += self._event("response.content_part.added", **self._position(content_index=0), part=blank_text)
            return output + self._add_text(part.text)
        if isinstance(part, Thinking):
            output = self._added({"id": part.id or f"rs_{seed}", "type": "reasoning", "summary": []})
            whole = PartGrew(index=0, text=part.text, signature=part.signature, encrypted=part.encrypted)
            output += b"".join(self._add_summary(text, index) for index, text in enumerate(part.summary))
            return output + self._add_thinking(whole)
        if isinstance(part, ToolCall):
            if part.signature:
                output = self._added(signature_item(part.signature, seed)) + self._done()
            item = call_item(replace(part, arguments={}, raw=""), self._tools)
            status = {"status": "in_progress"} if "status" in item else {}
            output += self._added(
                {**item, "input" if item["type"] == "custom_tool_call" else "arguments": "", **status}
            )
            return output + self._add_arguments(part.raw)
        for item in write_item(part, seed, self._tools):
            output += self._added(item)
        return output

    def grow(self, grown: PartGrew) -> bytes:
        """The delta events for the open item."""
        if grown.extra and isinstance(self._part, ToolCall | Thinking):
            self._part = replace(self._part, extra={**self._part.extra, **grown.extra})
        if isinstance(self._part, ToolCall):
            return self._add_arguments(grown.text)
        if isinstance(self._part, Thinking):
            return self._add_summary(grown.summary, grown.summary_index) + self._add_thinking(grown)
        return self._add_text(grown.text)

    def close_part(self) -> bytes:
        """The events that end an item."""
        text = "".join(self._text)
        if isinstance(self._part, Text):
            part = new_text(replace(self._part, text=text))
            if is_refusal(self._part):
                output = self._event("response.refusal.done", **self._position(content_index=0), refusal=text)
            else:
                position = self._position(content_index=0)
                output = self._event("response.output_text.done", **position, text=text, logprobs=[])
            output += self._event("response.content_part.done", **self._position(content_index=0), part=part)
            self._item = {**self._item, "status": "completed", "content": [part]}
            return output + self._done()
        if isinstance(self._part, Thinking):
            return self._close_thinking(self._part, text)
        if isinstance(self._part, ToolCall):
            return self._close_call(self._part, text)
        return self._done() if self._item else b""

    def _close_thinking(self, part: Thinking, text: str) -> bytes:
        output = self._end_summary() if self._summaries else b""
        if text:
            output += self._event("response.reasoning_text.done", **self._position(content_index=0), text=text)
            self._item["content"] = [reasoning_text(text)]
        whole = replace(
            part,
            id=self._item["id"],
            text=text,
            summary=tuple(self._summaries),
            signature=self._signature or None,
            encrypted=self._encrypted or None,
        )
        self._item = {**self._item, **write_reasoning(whole)}
        return output + self._done()

    def _close_call(self, part: ToolCall, raw: str) -> bytes:
        self._item = call_item(replace(part, raw=raw, arguments=arguments(raw)), self._tools)
        if self._item["type"] == "custom_tool_call":
            text = self._item["input"]
            output = self._event("response.custom_tool_call_input.delta", **self._position(), delta=text)
            output += self._event("response.custom_tool_call_input.done", **self._position(), input=text)
        else:
            text = self._item["arguments"]
            output = b"" if raw else self._add_arguments(text)
            output += self._event("response.function_call_arguments.done", **self._position(), arguments=text)
        return output + self._done()

    def _add_text(self, text: str) -> bytes:
        if not text:
            return b""
        self._text.append(text)
        position = self._position(content_index=0)
        if self._part is not None and is_refusal(self._part):
            return self._event("response.refusal.delta", **position, delta=text)
        return self._event("response.output_text.delta", **position, delta=text, logprobs=[])

    def _add_arguments(self, text: str) -> bytes:
        self._text.append(text)
        if not text or self._item["type"] == "custom_tool_call":
            return b""
        return self._event("response.function_call_arguments.delta", **self._position(), delta=text)

    def _add_thinking(self, grown: PartGrew) -> bytes:
        self._signature = grown.signature or self._signature
        self._encrypted += grown.encrypted or ""
        if not grown.text:
            return b""
        if self._part is not None and NAME not in self._part.extra:
            return self._add_summary(grown.text, 0)
        self._text.append(grown.text)
        return self._event("response.reasoning_text.delta", **self._position(content_index=0), delta=grown.text)

    def _add_summary(self, text: str, index: int) -> bytes:
        if not text:
            return b""
        output = b""
        while len(self._summaries) <= index:
            output += self._end_summary() if self._summaries else b""
            self._summaries.append("")
            part = summary_text("")
            output += self._event("response.reasoning_summary_part.added", **self._summary_position(), part=part)
        self._summaries[-1] += text
        return output + self._event("response.reasoning_summary_text.delta", **self._summary_position(), delta=text)

    def _end_summary(self) -> bytes:
        text = self._summaries[-1]
        output = self._event("response.reasoning_summary_text.done", **self._summary_position(), text=text)
        return output + self._event(
            "response.reasoning_summary_part.done", **self._summary_position(), part=summary_text(text)
        )

    def _added(self, item: Json) -> bytes:
        self._item = item
        return self._event("response.output_item.added", output_index=len(self._items), item=item)

    def _done(self) -> bytes:
        self._items.append(self._item)
        output = self._event("response.output_item.done", output_index=len(self._items) - 1, item=self._item)
        self._item = {}
        return output

    def _position(self, **fields: int) -> Json:
        return {"item_id": self._item.get("id"), "output_index": len(self._items), **fields}

    def _summary_position(self) -> Json:
        return self._position(summary_index=len(self._summaries) - 1)

    def _event(self, kind: str, **fields: object) -> bytes:
        self._number += 1
        return event({"type": kind, "sequence_number": self._number, **fields}, kind)
