"""Whether a stream has the form that its dialect's official clients expect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

_LOOKS_WHOLE = "the stream broke off, but ends as if it were complete"

Events: TypeAlias = Sequence[dict[str, Any]]


def complaints(dialect: str, events: Events, *, broke: bool = False) -> list[str]:
    """What is wrong with the form of a stream; one that broke off need not have an end."""
    if not events:
        return ["there are no events"]
    bad = [f"event {at}: the data is no JSON object" for at, event in enumerate(events) if _odd(event)]
    return bad or list(_CHECKS[dialect](events, broke))


def _odd(event: dict[str, Any]) -> bool:
    return not isinstance(event["data"], dict) and event["data"] != "[DONE]"


def _chat(events: Events, broke: bool) -> Iterator[str]:
    chunks = [event["data"] for event in events if event["data"] != "[DONE]" and "error" not in event["data"]]
    if (events[-1]["data"] == "[DONE]") is broke:
        yield _LOOKS_WHOLE if broke else "the last event is not [DONE]"
    if len({chunk.get("id") for chunk in chunks}) > 1:
        yield "the chunks do not have one id"
    if any(chunk.get("object") != "chat.completion.chunk" for chunk in chunks):
        yield "a chunk's object is not chat.completion.chunk"
    choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
    if not choices or choices[0].get("delta", {}).get("role") != "assistant":
        yield "the first delta does not name the role"
    stops = [at for at, choice in enumerate(choices) if choice.get("finish_reason")]
    if not broke and stops != [len(choices) - 1]:
        yield "there is not exactly one finish_reason, in the last choice"
    yield from _chat_calls(choices)


def _chat_calls(choices: Events) -> Iterator[str]:
    begun: set[int] = set()
    for choice in choices:
        for call in choice.get("delta", {}).get("tool_calls") or ():
            index = call.get("index")
            if index is None:
                yield "a piece of a tool call has no index"
            elif index not in begun and not (call.get("id") and call.get("function", {}).get("name")):
                yield f"tool call {index} begins without its id or name"
            elif index in begun and call.get("id"):
                yield f"tool call {index} is given an id twice"
            begun.add(index)


def _anthropic(events: Events, broke: bool) -> Iterator[str]:
    told = [event["data"] for event in events]
    kinds = [data.get("type") for data in told]
    if any(event["name"] != event["data"].get("type") for event in events):
        yield "an event's name is not its type"
    if kinds[0] != "message_start":
        yield "the first event is not message_start"
    if broke and "message_stop" in kinds:
        yield _LOOKS_WHOLE
    if not broke and [kind for kind in kinds if kind != "ping"][-2:] != ["message_delta", "message_stop"]:
        yield "the last events are not message_delta and message_stop"
    yield from _anthropic_blocks(told, broke)
    for data in told:
        if data.get("type") == "message_delta" and "output_tokens" not in data.get("usage", {}):
            yield "message_delta does not report output_tokens"


def _anthropic_blocks(told: Sequence[dict[str, Any]], broke: bool) -> Iterator[str]:
    current, following = None, 0
    for data in told:
        kind, index = data.get("type"), data.get("index")
        if kind == "content_block_start":
            if current is not None:
                yield f"block {index} begins before block {current} ends"
            if index != following:
                yield f"block {following} is numbered {index}"
            current, following = index, following + 1
        elif kind in {"content_block_delta", "content_block_stop"}:
            if index != current:
                yield f"{kind} for block {index}, but block {current} is open"
            current = None if kind == "content_block_stop" else current
    if current is not None and not broke:
        yield f"block {current} is never closed"


def _responses(events: Events, broke: bool) -> Iterator[str]:
    told = [event["data"] for event in events if event["data"] != "[DONE]"]
    kinds = [data.get("type") for data in told]
    if any(event["name"] not in {"", event["data"].get("type")} for event in events if event["data"] != "[DONE]"):
        yield "an event's name is not its type"
    if [data.get("sequence_number") for data in told] != list(range(len(told))):
        yield "the events are not numbered from 0"
    if kinds[0] != "response.created":
        yield "the first event is not response.created"
    ends = {"response.completed", "response.incomplete", "response.failed"}
    if kinds[-1] not in ends and not (broke and kinds[-1] == "error"):
        yield "the last event does not end the response"
    if broke and "response.completed" in kinds:
        yield _LOOKS_WHOLE
    yield from _responses_items(told)
    done = [data["item"] for data in told if data.get("type") == "response.output_item.done"]
    if kinds[-1] == "response.completed" and told[-1].get("response", {}).get("output") != done:
        yield "the completed response does not have the items that were told"


def _responses_items(told: Sequence[dict[str, Any]]) -> Iterator[str]:
    open_items: dict[int, dict[str, Any]] = {}
    spelled: dict[int, str] = {}
    following = 0
    for data in told:
        kind, index = data.get("type", ""), data.get("output_index")
        if kind == "response.output_item.added":
            if index != following:
                yield f"item {following} is numbered {index}"
            following += 1
            open_items[index or 0] = data["item"]
        elif index is not None and index not in open_items:
            yield f"{kind} for item {index}, which is not open"
        elif kind.endswith((".delta", ".done")) and "item_id" in data:
            if data["item_id"] != open_items[index or 0].get("id"):
                yield f"{kind} names another item than item {index}"
            if kind == "response.function_call_arguments.delta":
                spelled[index or 0] = spelled.get(index or 0, "") + data["delta"]
            if kind == "response.function_call_arguments.done" and data["arguments"] != spelled.get(index or 0, ""):
                yield f"the arguments of item {index} are not the sum of their pieces"
        elif kind == "response.output_item.done":
            open_items.pop(index or 0)


def _gemini(events: Events, broke: bool) -> Iterator[str]:
    told = [event["data"] for event in events if event["data"] != "[DONE]"]
    if len(told) < len(events):
        yield "there is a [DONE], which this dialect does not know"
    candidates = [candidate for data in told for candidate in data.get("candidates", ())]
    stops = [at for at, candidate in enumerate(candidates) if candidate.get("finishReason")]
    blocked = any("promptFeedback" in data for data in told)
    if not broke and not blocked and stops != [len(candidates) - 1]:
        yield "there is not exactly one finishReason, in the last candidate"
    if broke and stops:
        yield _LOOKS_WHOLE
    if any(candidate.get("content", {}).get("role", "model") != "model" for candidate in candidates):
        yield "a content's role is not model"
    if not broke and not any("usageMetadata" in data for data in told):
        yield "no usage is reported"


_CHECKS: dict[str, Callable[[Events, bool], Iterator[str]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
