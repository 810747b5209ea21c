"""Streams of OpenAI Responses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from demeanor.core.text.json_values import as_dict, as_dicts
from demeanor.gateway.contract.wellformed import LOOKS_COMPLETE, Events, Json, Note, data_of, missing, total, vary
from demeanor.gateway.dialects.strict_json import compact

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_WHOLE = {
    "output_text": "text",
    "refusal": "refusal",
    "reasoning_text": "text",
    "reasoning_summary_text": "text",
    "function_call_arguments": "arguments",
    "custom_tool_call_input": "input",
}
"""What arrives in pieces in the Responses API, and the field with the whole in the event that ends it."""
_INNER = {
    **dict.fromkeys(("content_part", "output_text", "refusal", "reasoning_text"), "content_index"),
    **dict.fromkeys(("reasoning_summary_part", "reasoning_summary_text"), "summary_index"),
}
"""Where a part of an item says which part it is."""
_PARTS = {
    "content_part": {"output_text": "output_text", "refusal": "refusal"},
    "reasoning_summary_part": {"summary_text": "reasoning_summary_text"},
}
"""What a part of each type grows by."""
_RESPONSE = ("id", "object", "created_at", "model", "status", "output", "usage")
_STATUS = {
    "response.created": ("in_progress", "queued"),
    "response.in_progress": ("in_progress",),
    "response.completed": ("completed",),
    "response.incomplete": ("incomplete",),
    "response.failed": ("failed",),
}
_KINDS = frozenset(
    {
        *(*_STATUS, "response.queued", "error"),
        *(f"response.{subject}.{step}" for subject in ("output_item", *_PARTS) for step in ("added", "done")),
        *(f"response.{subject}.{step}" for subject in _WHOLE for step in ("delta", "done")),
    }
)
_LASTING = ("type", "id", "role", "call_id", "name")
"""Fields of an item that stay as they are."""


def problems(events: Events, broke: bool) -> Iterator[str]:
    """What clients rely on; a stream that broke off needs no end."""
    events_data = data_of(events)
    kinds = [data.get("type") for data in events_data]
    if any(event["name"] not in {"", event["data"].get("type")} for event in events if event["data"] != "[DONE]"):
        yield "an event's name is not its type"
    if len({bool(event["name"]) for event in events}) > 1:
        yield Note("some events have no name")
    if kinds[:1] not in (["response.created"], ["response.queued"]):
        yield "the first event is not response.created"
    ends = [at for at, kind in enumerate(kinds) if kind in _ENDS or (broke and kind == "error")]
    if not ends:
        yield "no event ends the response"
    elif ends[0] != len(kinds) - 1:
        yield Note("an event comes after the end of the response")
        events_data, kinds = events_data[: ends[0] + 1], kinds[: ends[0] + 1]
    if broke and "response.completed" in kinds:
        yield LOOKS_COMPLETE
    if [data.get("sequence_number") for data in events_data] != list(range(len(events_data))):
        yield Note("the events are not numbered from 0")
    yield from _numbered_items(events_data)
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


def _numbered_items(events_data: Sequence[Json]) -> Iterator[str]:
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


def differences(events_data: Sequence[Json]) -> Iterator[str]:
    """What is missing by the specification, or is said twice in different ways."""
    kinds = [str(data.get("type")) for data in events_data]
    heads = [(kind, as_dict(data.get("response"))) for kind, data in zip(kinds, events_data, strict=True)]
    heads = [(kind, response) for kind, response in heads if kind in _STATUS]
    responses = [response for _, response in heads]
    yield from vary("the ids of the response", [response.get("id") for response in responses])
    yield from vary("the models of the response", [response.get("model") for response in responses])
    for kind, response in heads:
        yield from missing(kind, response, _RESPONSE)
        if response.get("object") != "response":
            yield f"{kind} has no response"
        if response.get("status") not in _STATUS[kind]:
            yield f"{kind} has the status {response.get('status')}"
        usage = as_dict(response.get("usage"))
        if usage and usage.get("total_tokens") != total(usage, "input_tokens", "output_tokens"):
            yield "total_tokens is not the sum of the others"
    yield from (f"the event {kind} is unknown" for kind in kinds if kind not in _KINDS)
    for response in responses[:-1]:
        if response.get("output") or response.get("usage"):
            yield "the response has its output or usage before its end"
    yield from _items(events_data)
    yield from _pieces(events_data)


def _items(events_data: Sequence[Json]) -> Iterator[str]:
    added: dict[str, Json] = {}
    for data in events_data:
        item, index = as_dict(data.get("item")), str(data.get("output_index"))
        if data.get("type") == "response.output_item.added":
            added[index] = item
            if item.get("content") or item.get("arguments") or item.get("summary") or item.get("input"):
                yield "an item is added with what is to follow"
            if item.get("status", "in_progress") != "in_progress":
                yield "an item is added as if it were done"
        elif data.get("type") == "response.output_item.done":
            before = added.get(index, item)
            if item.get("status") == "in_progress":
                yield "an item is done as if it were not"
            changed = [key for key in _LASTING if before.get(key) != item.get(key)]
            yield from (f"an item's {key} changes" for key in changed)


def _pieces(events_data: Sequence[Json]) -> Iterator[str]:
    """Whether each event says where it belongs, and each whole is the sum of its pieces."""
    joined: dict[tuple[str, ...], str] = {}
    ended: set[tuple[str, ...]] = set()
    for data in events_data:
        kind = str(data.get("type"))
        _, subject, step = (*kind.split("."), "", "")[:3]
        if step not in ("added", "delta", "done") or subject == "output_item":
            yield from missing(kind, data, ("output_index", "item") if subject == "output_item" else ())
            continue
        inner = _INNER.get(subject, "output_index")
        own = "delta" if step == "delta" else _WHOLE.get(subject, "part")
        stated = {key: value for key, value in data.items() if value is not None}
        yield from missing(kind, stated, ("item_id", "output_index", inner, own))
        subject, whole = _grows(subject, data, own)
        place = (subject, str(data.get("output_index")), str(data.get(inner)))
        if step == "delta":
            if inner != "output_index" and subject != "reasoning_text" and place not in joined:
                yield f"{kind} comes before its part"
            joined[place] = joined.get(place, "") + str(whole)
        elif whole != joined.setdefault(place, "") or (own != "part" and place in ended):
            yield f"{kind} is not the sum of its pieces, once"
        ended |= {place} if step == "done" and own != "part" else set()
    if str(events_data[-1].get("type")) == "response.completed":
        yield from (f"{subject} has no end" for subject, *place in joined if (subject, *place) not in ended)


def _grows(subject: str, data: Json, own: str) -> tuple[str, Any]:
    """What grows by the deltas of an event's subject, and what the event says of it."""
    if subject not in _PARTS:
        return subject, data.get(own)
    part = as_dict(data.get("part"))
    grows = _PARTS[subject].get(str(part.get("type")), "")
    return grows, part.get("refusal") if grows == "refusal" else part.get("text")
