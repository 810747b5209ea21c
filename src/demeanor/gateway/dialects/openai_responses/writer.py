"""Writes streamed answers of the Responses format."""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.exchange import ProviderError, Request, StopReason, Usage
from demeanor.core.messages import Part, Text, Thinking, ToolCall
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.json_reader import Json, own
from demeanor.gateway.dialects.openai_responses.content import NAME
from demeanor.gateway.dialects.openai_responses.items import (
    reasoning_text,
    sealed_item,
    summary_text,
    write_reasoning,
)
from demeanor.gateway.dialects.openai_responses.response import (
    ITEM,
    call_item,
    head,
    message_item,
    output_text,
    write_item,
    write_stop,
    write_usage,
)
from demeanor.gateway.dialects.openai_responses.tools import custom_tools
from demeanor.gateway.dialects.part_order import InOrder
from demeanor.gateway.dialects.sse import event
from demeanor.gateway.dialects.stream_events import Began, Broke, Delta, Finished, PartClosed, PartGrew, PartOpened
from demeanor.gateway.dialects.strict_json import arguments

_CODES = {"rate_limit": "rate_limit_exceeded", "bad_request": "invalid_prompt", "overloaded": "server_is_overloaded"}


class ResponsesWriter:
    """Tells one streamed answer, one item after the other."""

    content_type = "text/event-stream"

    def __init__(self, request: Request) -> None:
        self._custom = custom_tools(request)
        self._answer = head(ids.made("resp_", request.model, len(request.messages)), request.model)
        self._order = InOrder()
        self._began = self._broke = self._finished = False
        self._number = -1
        self._items: list[Json] = []
        self._part: Part | None = None
        self._item: Json = {}
        self._text: list[str] = []
        self._summaries: list[str] = []
        self._signature = self._encrypted = ""
        self._stop = StopReason.UNKNOWN
        self._usage = Usage()

    def write(self, delta: Delta) -> bytes:
        """The events that tell this delta."""
        told = b""
        if not self._began:
            told = self._begin(delta if isinstance(delta, Began) else Began())
        return told + b"".join(self._tell(ready) for ready in self._order.take(delta))

    def close(self) -> bytes:
        """The whole answer once more; one that broke off must not look complete."""
        if self._broke or not self._finished:
            return b""
        self._answer.update(write_stop(self._stop))
        self._answer.update({"output": self._items, "usage": write_usage(self._usage)})
        return self._event(f"response.{self._answer['status']}", response=self._answer)

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
        elif isinstance(delta, Broke):
            return self._break(delta.error)
        return b""

    def _begin(self, began: Began) -> bytes:
        self._began = True
        self._answer.update(own(began.extra, NAME))
        self._answer["id"] = began.id or self._answer["id"]
        self._answer["model"] = began.model or self._answer["model"]
        self._answer.update({"status": "in_progress", "output": [], "usage": None})
        told = self._event("response.created", response=self._answer)
        return told + self._event("response.in_progress", response=self._answer)

    def _break(self, error: ProviderError) -> bytes:
        self._broke = True
        failure = {"code": _CODES.get(error.reason, "server_error"), "message": error.message}
        failed = {**self._answer, "status": "failed", "error": failure, "output": self._items}
        return self._event("response.failed", response=failed)

    def _open(self, part: Part) -> bytes:
        self._part, self._text, self._summaries = part, [], []
        self._signature = self._encrypted = ""
        seed = ids.digest(self._answer["id"], len(self._items))
        told = b""
        if isinstance(part, Text):
            given = (part.extra.get(ITEM) or {}).get("id") or f"msg_{seed}"
            told = self._added(message_item(given, "", "in_progress"))
            told += self._event("response.content_part.added", **self._here(content_index=0), part=output_text(""))
            return told + self._say(part.text)
        if isinstance(part, Thinking):
            told = self._added({"id": part.id or f"rs_{seed}", "type": "reasoning", "summary": []})
            whole = PartGrew(index=0, text=part.text, signature=part.signature, encrypted=part.encrypted)
            told += b"".join(self._summarise(text, place) for place, text in enumerate(part.summary))
            return told + self._think(whole)
        if isinstance(part, ToolCall):
            if part.signature:
                told = self._added(sealed_item(part.signature, seed)) + self._done()
            item = call_item(replace(part, arguments={}, raw=""), self._custom)
            blank = {"input": ""} if item["type"] == "custom_tool_call" else {"arguments": "", "status": "in_progress"}
            told += self._added({**item, **blank})
            return told + self._spell(part.raw)
        for item in write_item(part, seed, self._custom):
            told += self._added(item)
        return told

    def _grow(self, grown: PartGrew) -> bytes:
        if isinstance(self._part, ToolCall):
            return self._spell(grown.text)
        if isinstance(self._part, Thinking):
            return self._summarise(grown.summary, grown.place) + self._think(grown)
        return self._say(grown.text)

    def _close(self) -> bytes:
        text = "".join(self._text)
        if isinstance(self._part, Text):
            part = output_text(text)
            told = self._event("response.output_text.done", **self._here(content_index=0), text=text, logprobs=[])
            told += self._event("response.content_part.done", **self._here(content_index=0), part=part)
            self._item = {**self._item, "status": "completed", "content": [part]}
            return told + self._done()
        if isinstance(self._part, Thinking):
            return self._close_thought(self._part, text)
        if isinstance(self._part, ToolCall):
            return self._close_call(self._part, text)
        return self._done() if self._item else b""

    def _close_thought(self, part: Thinking, text: str) -> bytes:
        told = self._end_summary() if self._summaries else b""
        if text:
            told += self._event("response.reasoning_text.done", **self._here(content_index=0), text=text)
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
        return told + self._done()

    def _close_call(self, part: ToolCall, raw: str) -> bytes:
        self._item = call_item(replace(part, raw=raw, arguments=arguments(raw)), self._custom)
        if self._item["type"] == "custom_tool_call":
            typed = self._item["input"]
            told = self._event("response.custom_tool_call_input.delta", **self._here(), delta=typed)
            told += self._event("response.custom_tool_call_input.done", **self._here(), input=typed)
        else:
            spelled = self._item["arguments"]
            told = b"" if raw else self._spell(spelled)
            told += self._event("response.function_call_arguments.done", **self._here(), arguments=spelled)
        return told + self._done()

    def _say(self, text: str) -> bytes:
        if not text:
            return b""
        self._text.append(text)
        return self._event("response.output_text.delta", **self._here(content_index=0), delta=text, logprobs=[])

    def _spell(self, text: str) -> bytes:
        self._text.append(text)
        if not text or self._item["type"] == "custom_tool_call":
            return b""
        return self._event("response.function_call_arguments.delta", **self._here(), delta=text)

    def _think(self, grown: PartGrew) -> bytes:
        self._signature = grown.signature or self._signature
        self._encrypted += grown.encrypted or ""
        if not grown.text:
            return b""
        if self._part is not None and NAME not in self._part.extra:
            return self._summarise(grown.text, 0)
        self._text.append(grown.text)
        return self._event("response.reasoning_text.delta", **self._here(content_index=0), delta=grown.text)

    def _summarise(self, text: str, place: int) -> bytes:
        if not text:
            return b""
        told = b""
        while len(self._summaries) <= place:
            told += self._end_summary() if self._summaries else b""
            self._summaries.append("")
            part = summary_text("")
            told += self._event("response.reasoning_summary_part.added", **self._here_summary(), part=part)
        self._summaries[-1] += text
        return told + self._event("response.reasoning_summary_text.delta", **self._here_summary(), delta=text)

    def _end_summary(self) -> bytes:
        text = self._summaries[-1]
        told = self._event("response.reasoning_summary_text.done", **self._here_summary(), text=text)
        return told + self._event(
            "response.reasoning_summary_part.done", **self._here_summary(), part=summary_text(text)
        )

    def _added(self, item: Json) -> bytes:
        self._item = item
        return self._event("response.output_item.added", output_index=len(self._items), item=item)

    def _done(self) -> bytes:
        self._items.append(self._item)
        told = self._event("response.output_item.done", output_index=len(self._items) - 1, item=self._item)
        self._item = {}
        return told

    def _here(self, **fields: int) -> Json:
        return {"item_id": self._item.get("id"), "output_index": len(self._items), **fields}

    def _here_summary(self) -> Json:
        return self._here(summary_index=len(self._summaries) - 1)

    def _event(self, kind: str, **fields: object) -> bytes:
        self._number += 1
        return event({"type": kind, "sequence_number": self._number, **fields}, kind)
