"""Checks that a stream has the format that the official clients of its dialect expect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

_LOOKS_COMPLETE = "the stream broke off, but ends as if it were complete"

Events: TypeAlias = Sequence[dict[str, Any]]


def stream_problems(dialect: str, events: Events, *, broke: bool = False) -> list[str]:
    """The problems with the format of a stream; a stream that broke off needs no end."""
    if not events:
        return ["there are no events"]
    bad = [f"event {at}: the data is not a JSON object" for at, event in enumerate(events) if _is_not_object(event)]
    return bad or list(_CHECKS[dialect](events, broke))


def _is_not_object(event: dict[str, Any]) -> bool:
    return not isinstance(event["data"], dict) and event["data"] != "[DONE]"


def _chat(events: Events, broke: bool) -> Iterator[str]:
    chunks = [event["data"] for event in events if event["data"] != "[DONE]" and "error" not in event["data"]]
    if (events[-1]["data"] == "[DONE]") is broke:
        yield _LOOKS_COMPLETE if broke else "the last event is not [DONE]"
    if len({chunk.get("id") for chunk in chunks}) > 1:
        yield "the chunks do not have the same id"
    if any(chunk.get("object") != "chat.completion.chunk" for chunk in chunks):
        yield "a chunk's object is not chat.completion.chunk"
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    if not choices or choices[0].get("delta", {}).get("role") != "assistant":
        yield "the first delta does not set the role"
    stops = [at for at, choice in enumerate(choices) if choice.get("finish_reason")]
    if not broke and stops != [len(choices) - 1]:
        yield "there is not exactly one finish_reason, in the last choice"
    yield from _chat_calls(choices)


def _chat_calls(choices: Events) -> Iterator[str]:
    opened: set[int] = set()
    for choice in choices:
        for call in choice.get("delta", {}).get("tool_calls") or ():
            index = call.get("index")
            if index is None:
                yield "a fragment of a tool call has no index"
            elif index not in opened and not (call.get("id") and call.get("function", {}).get("name")):
                yield f"tool call {index} starts without its id or name"
            elif index in opened and call.get("id"):
                yield f"tool call {index} gets an id twice"
            opened.add(index)


def _anthropic(events: Events, broke: bool) -> Iterator[str]:
    events_data = [event["data"] for event in events]
    kinds = [data.get("type") for data in events_data]
    if any(event["name"] != event["data"].get("type") for event in events):
        yield "an event's name is not its type"
    if kinds[0] != "message_start":
        yield "the first event is not message_start"
    if broke and "message_stop" in kinds:
        yield _LOOKS_COMPLETE
    if not broke and [kind for kind in kinds if kind != "ping"][-2:] != ["message_delta", "message_stop"]:
        yield "the last events are not message_delta and message_stop"
    yield from _anthropic_blocks(events_data, broke)
    for data in events_data:
        if data.get("type") == "message_delta" and "output_tokens" not in data.get("usage", {}):
            yield "message_delta does not report output_tokens"


def _anthropic_blocks(events_data: Sequence[dict[str, Any]], broke: bool) -> Iterator[str]:
    current, expected_index = None, 0
    for data in events_data:
        kind, index = data.get("type"), data.get("index")
        if kind == "content_block_start":
            if current is not None:
                yield f"block {index} starts before block {current} ends"
            if index != expected_index:
                yield f"block {expected_index} has the index {index}"
            current, expected_index = index, expected_index + 1
        elif kind in {"content_block_delta", "content_block_stop"}:
            if index != current:
                yield f"{kind} for block {index}, but block {current} is open"
            current = None if kind == "content_block_stop" else current
    if current is not None and not broke:
        yield f"block {current} is never closed"


def _responses(events: Events, broke: bool) -> Iterator[str]:
    events_data = [event["data"] for event in events if event["data"] != "[DONE]"]
    kinds = [data.get("type") for data in events_data]
    if any(event["name"] not in {"", event["data"].get("type")} for event in events if event["data"] != "[DONE]"):
        yield "an event's name is not its type"
    if [data.get("sequence_number") for data in events_data] != list(range(len(events_data))):
        yield "the events are not numbered from 0"
    if kinds[0] != "response.created":
        yield "the first event is not response.created"
    ends = {"response.completed", "response.incomplete", "response.failed"}
    if kinds[-1] not in ends and not (broke and kinds[-1] == "error"):
        yield "the last event does not end the response"
    if broke and "response.completed" in kinds:
        yield _LOOKS_COMPLETE
    yield from _responses_items(events_data)
    done = [data["item"] for data in events_data if data.get("type") == "response.output_item.done"]
    if kinds[-1] == "response.completed" and events_data[-1].get("response", {}).get("output") != done:
        yield "the completed response does not have the items that were streamed"


def _responses_items(events_data: Sequence[dict[str, Any]]) -> Iterator[str]:
    open_items: dict[int, dict[str, Any]] = {}
    arguments: dict[int, str] = {}
    expected_index = 0
    for data in events_data:
        kind, index = data.get("type", ""), data.get("output_index")
        if kind == "response.output_item.added":
            if index != expected_index:
                yield f"item {expected_index} has the index {index}"
            expected_index += 1
            open_items[index or 0] = data["item"]
        elif index is not None and index not in open_items:
            yield f"{kind} for item {index}, which is not open"
        elif kind.endswith((".delta", ".done")) and "item_id" in data:
            if data["item_id"] != open_items[index or 0].get("id"):
                yield f"{kind} has a wrong item_id for item {index}"
            if kind == "response.function_call_arguments.delta":
                arguments[index or 0] = arguments.get(index or 0, "") + data["delta"]
            if kind == "response.function_call_arguments.done" and data["arguments"] != arguments.get(index or 0, ""):
                yield f"the arguments of item {index} are not the concatenation of their fragments"
        elif kind == "response.output_item.done":
            open_items.pop(index or 0)


def _gemini(events: Events, broke: bool) -> Iterator[str]:
    events_data = [event["data"] for event in events if event["data"] != "[DONE]"]
    if len(events_data) < len(events):
        yield "there is a [DONE], which this dialect does not use"
    candidates = [candidate for data in events_data for candidate in data.get("candidates", ())]
    stops = [at for at, candidate in enumerate(candidates) if candidate.get("finishReason")]
    blocked = any("promptFeedback" in data for data in events_data)
    if not broke and not blocked and stops != [len(candidates) - 1]:
        yield "there is not exactly one finishReason, in the last candidate"
    if broke and stops:
        yield _LOOKS_COMPLETE
    if any(candidate.get("content", {}).get("role", "model") != "model" for candidate in candidates):
        yield "a content's role is not model"
    if not broke and not any("usageMetadata" in data for data in events_data):
        yield "no usage is reported"


_CHECKS: dict[str, Callable[[Events, bool], Iterator[str]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
