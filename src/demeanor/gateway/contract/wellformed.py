"""Checks that a stream has the format that the official clients of its dialect expect.

What a specification demands and clients rely on is a problem if it is missing. Where providers differ and clients
tolerate it, the difference is a `Note`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

from demeanor.core.text.json_values import as_dict, as_dicts
from demeanor.gateway.contract import event_fields
from demeanor.gateway.dialects.strict_json import compact

_LOOKS_COMPLETE = "the stream broke off, but ends as if it were complete"
_ANTHROPIC_BLOCKS = {"content_block_start", "content_block_delta", "content_block_stop"}
_ANTHROPIC_EVENTS = frozenset({"message_start", *_ANTHROPIC_BLOCKS, "message_delta", "message_stop", "error"})
_RESPONSE_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})

Json: TypeAlias = dict[str, Any]
Events: TypeAlias = Sequence[Json]


class Note(str):
    """A difference between providers that clients tolerate."""

    __slots__ = ()


def stream_problems(dialect: str, events: Events, *, broke: bool = False) -> list[str]:
    """The problems with the format of a stream, and notes; a stream that broke off needs no end."""
    if not events:
        return ["there are no events"]
    bad = [f"event {at}: the data is not a JSON object" for at, event in enumerate(events) if _is_not_object(event)]
    differences = () if bad else map(Note, event_fields.differences(dialect, _data(events)))
    return bad or list(dict.fromkeys((*_CHECKS[dialect](events, broke), *differences)))


def _is_not_object(event: Json) -> bool:
    return not isinstance(event["data"], dict) and event["data"] != "[DONE]"


def _data(events: Events) -> list[Json]:
    return [event["data"] for event in events if event["data"] != "[DONE]"]


def _chat(events: Events, broke: bool) -> Iterator[str]:
    chunks = [data for data in _data(events) if not data.get("error")]
    if (events[-1]["data"] == "[DONE]") is broke:
        yield _LOOKS_COMPLETE if broke else "the last event is not [DONE]"
    if len(_data(events)) < len(events) - 1:
        yield Note("there are several [DONE]")
    if len({chunk.get("id") for chunk in chunks}) > 1:
        yield Note("the chunks do not have the same id")
    if any(chunk.get("object") != "chat.completion.chunk" for chunk in chunks):
        yield Note("a chunk's object is not chat.completion.chunk")
    choices = [choice for chunk in chunks for choice in as_dicts(chunk.get("choices")) if not choice.get("index")]
    if not choices or as_dict(choices[0].get("delta")).get("role") != "assistant":
        yield Note("the first delta does not set the role")
    stops = [at for at, choice in enumerate(choices) if choice.get("finish_reason")]
    if not stops and not broke:
        yield "there is no finish_reason"
    if len(stops) > 1:
        yield Note("there are several finish_reasons")
    late = [as_dict(choice.get("delta")) for choice in choices[stops[0] + 1 :]] if stops else []
    if late:
        empty = not any(delta.get("content") or delta.get("tool_calls") for delta in late)
        yield Note("an empty delta comes after the finish_reason") if empty else "content comes after the finish_reason"
    yield from _chat_calls(choices)


def _chat_calls(choices: Events) -> Iterator[str]:
    known: dict[int, dict[str, Any]] = {}
    for call in (call for choice in choices for call in as_dicts(as_dict(choice.get("delta")).get("tool_calls"))):
        index, function = call.get("index"), as_dict(call.get("function")) or as_dict(call.get("custom"))
        if not isinstance(index, int):
            yield "a fragment of a tool call has no index"
            continue
        found = {"id": call.get("id") or None, "name": function.get("name") or None}
        before = known.setdefault(index, found)
        if before is found and not all(found.values()):
            yield Note(f"tool call {index} starts without its id or name")
        elif before is not found and found["id"]:
            same = found["id"] == before["id"] or before["id"] is None
            yield Note(f"tool call {index} gets its id twice") if same else f"tool call {index} gets another id"
        known[index] = {key: before[key] or found[key] for key in found}
    for index, call in known.items():
        yield from (f"tool call {index} has no {key}" for key, value in call.items() if not value)


def _anthropic(events: Events, broke: bool) -> Iterator[str]:
    kinds = [event["data"].get("type") for event in events]
    unknown = {kind for kind in kinds if kind not in _ANTHROPIC_EVENTS and kind != "ping"}
    yield from (Note(f"the event {kind} is unknown") for kind in unknown)
    if any(event["name"] != event["data"].get("type") for event in events):
        yield "an event's name is not its type"
    known = [data for data in _data(events) if data.get("type") in _ANTHROPIC_EVENTS]
    kinds = [data["type"] for data in known]
    if "message_stop" in kinds[:-1]:
        yield Note("an event comes after message_stop")
        known = known[: kinds.index("message_stop") + 1]
        kinds = kinds[: len(known)]
    if kinds[:1] != ["message_start"]:
        yield "the first event is not message_start"
    if broke and "message_stop" in kinds:
        yield _LOOKS_COMPLETE
    if not broke and kinds[-2:] != ["message_delta", "message_stop"]:
        whole = kinds[-1:] == ["message_stop"] and as_dict(known[0].get("message")).get("stop_reason")
        problem = "the last events are not message_delta and message_stop"
        yield Note("message_start contains the whole message") if whole else problem
    yield from _anthropic_blocks(known, broke)
    for data in known:
        if data["type"] == "message_delta" and "output_tokens" not in as_dict(data.get("usage")):
            yield "message_delta does not report output_tokens"


def _anthropic_blocks(events_data: Sequence[Json], broke: bool) -> Iterator[str]:
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
    events_data = _data(events)
    kinds = [data.get("type") for data in events_data]
    if any(event["name"] not in {"", event["data"].get("type")} for event in events if event["data"] != "[DONE]"):
        yield "an event's name is not its type"
    if len({bool(event["name"]) for event in events}) > 1:
        yield Note("some events have no name")
    if kinds[:1] not in (["response.created"], ["response.queued"]):
        yield "the first event is not response.created"
    ends = [at for at, kind in enumerate(kinds) if kind in _RESPONSE_ENDS or (broke and kind == "error")]
    if not ends:
        yield "no event ends the response"
    elif ends[0] != len(kinds) - 1:
        yield Note("an event comes after the end of the response")
        events_data, kinds = events_data[: ends[0] + 1], kinds[: ends[0] + 1]
    if broke and "response.completed" in kinds:
        yield _LOOKS_COMPLETE
    if [data.get("sequence_number") for data in events_data] != list(range(len(events_data))):
        yield Note("the events are not numbered from 0")
    yield from _responses_items(events_data)
    done = [as_dict(data.get("item")) for data in events_data if data.get("type") == "response.output_item.done"]
    for data in events_data:
        if data.get("type") == "response.completed":
            yield from _compare_items(done, as_dicts(as_dict(data.get("response")).get("output")))


def _compare_items(streamed: Events, completed: Events) -> Iterator[str]:
    if sorted(filter(None, map(_said, streamed))) != sorted(filter(None, map(_said, completed))):
        yield "the completed response does not have the items that were streamed"
    elif streamed != completed:
        yield Note("the completed response repeats the streamed items with differences")


def _said(item: Json) -> str:
    """What an item says or calls; ids and encrypted data of providers differ from event to event.

    Empty for other items: OpenAI does not stream the end of an item about its own tools if there are several.
    """
    texts = [part.get("text") or part.get("refusal") for part in as_dicts(item.get("content"))]
    call = [item.get(key) for key in ("call_id", "name", "arguments")] if item.get("type") == "function_call" else []
    return compact([texts, call]) if texts or call else ""


def _responses_items(events_data: Sequence[Json]) -> Iterator[str]:
    items: dict[int, Json] = {}
    fragments: dict[int, str] = {}
    closed: set[int] = set()
    for data in events_data:
        kind, index = str(data.get("type")), data.get("output_index")
        if kind == "response.output_item.added" and isinstance(index, int):
            if index in items:
                yield f"item {index} is added twice"
            elif index != len(items):
                yield Note(f"item {len(items)} has the index {index}")
            items[index] = as_dict(data.get("item"))
        elif isinstance(index, int) and index not in items:
            yield f"{kind} for item {index}, which was never added"
        elif isinstance(index, int):
            if index in closed:
                yield Note(f"{kind} for item {index}, which is already done")
            if data.get("item_id") not in {None, items[index].get("id")}:
                yield Note(f"{kind} has another item_id than item {index}")
            closed |= {index} if kind == "response.output_item.done" else set()
            yield from _check_arguments(kind, index, data, fragments)


def _check_arguments(kind: str, index: int, data: Json, fragments: dict[int, str]) -> Iterator[str]:
    if kind == "response.function_call_arguments.delta":
        fragments[index] = fragments.get(index, "") + str(data.get("delta"))
    elif kind == "response.function_call_arguments.done" and data.get("arguments") != fragments.get(index, ""):
        if index in fragments:
            yield f"the arguments of item {index} are not the concatenation of their fragments"
        else:
            yield Note(f"the arguments of item {index} are not streamed")


def _gemini(events: Events, broke: bool) -> Iterator[str]:
    events_data = _data(events)
    if len(events_data) < len(events):
        yield "there is a [DONE], which this dialect does not use"
    candidates = [candidate for data in events_data for candidate in as_dicts(data.get("candidates"))]
    stops = [at for at, candidate in enumerate(candidates) if candidate.get("finishReason")]
    blocked = any(as_dict(data.get("promptFeedback")).get("blockReason") for data in events_data)
    if not broke and not blocked and not stops:
        yield "there is no finishReason"
    if stops and stops != [len(candidates) - 1]:
        yield Note("there is not exactly one finishReason, in the last candidate")
    if broke and stops:
        yield _LOOKS_COMPLETE
    if any(as_dict(candidate.get("content")).get("role", "model") != "model" for candidate in candidates):
        yield Note("a content's role is not model")
    if not broke and not any("usageMetadata" in data for data in events_data):
        yield Note("no usage is reported")


_CHECKS: dict[str, Callable[[Events, bool], Iterator[str]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
