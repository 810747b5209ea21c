"""Streams of OpenAI Chat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from demeanor.core.text.json_values import as_dict, as_dicts
from demeanor.gateway.contract.wellformed import LOOKS_COMPLETE, Events, Json, Note, data_of, missing, total, vary

_CHUNK = ("id", "object", "created", "model", "choices")
_CHOICE = ("index", "delta", "finish_reason")


def problems(events: Events, broke: bool) -> Iterator[str]:
    """What clients rely on; a stream that broke off needs no end."""
    chunks = [data for data in data_of(events) if not data.get("error")]
    if (events[-1]["data"] == "[DONE]") is broke:
        yield LOOKS_COMPLETE if broke else "the last event is not [DONE]"
    if len(data_of(events)) < len(events) - 1:
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
    yield from _calls(choices)


def _calls(choices: Events) -> Iterator[str]:
    calls_by_index: dict[int, dict[str, Any]] = {}
    for call in (call for choice in choices for call in as_dicts(as_dict(choice.get("delta")).get("tool_calls"))):
        index, function = call.get("index"), as_dict(call.get("function")) or as_dict(call.get("custom"))
        if not isinstance(index, int):
            yield "a fragment of a tool call has no index"
            continue
        fields = {"id": call.get("id") or None, "name": function.get("name") or None}
        before = calls_by_index.setdefault(index, fields)
        if before is fields and not all(fields.values()):
            yield Note(f"tool call {index} starts without its id or name")
        elif before is not fields and fields["id"]:
            same = fields["id"] == before["id"] or before["id"] is None
            yield Note(f"tool call {index} gets its id twice") if same else f"tool call {index} gets another id"
        calls_by_index[index] = {key: before[key] or fields[key] for key in fields}
    for index, call in calls_by_index.items():
        yield from (f"tool call {index} has no {key}" for key, value in call.items() if not value)


def differences(chunks: Sequence[Json]) -> Iterator[str]:
    """What is missing by the specification, or is said twice in different ways."""
    chunks = [chunk for chunk in chunks if not chunk.get("error")]
    choices = [choice for chunk in chunks for choice in as_dicts(chunk.get("choices"))]
    for chunk in chunks:
        yield from missing("a chunk", chunk, _CHUNK)
        usage = as_dict(chunk.get("usage"))
        if usage and usage.get("total_tokens") != total(usage, "prompt_tokens", "completion_tokens"):
            yield "total_tokens is not the sum of the others"
    yield from vary("the models of the chunks", [chunk.get("model") for chunk in chunks])
    yield from vary("the times of the chunks", [chunk.get("created") for chunk in chunks])
    for choice in choices:
        yield from missing("a choice", choice, _CHOICE)
    deltas = [as_dict(choice.get("delta")) for choice in choices if not choice.get("index")]
    if sum("role" in delta for delta in deltas) > 1:
        yield "several deltas set the role"
    for call in (call for delta in deltas for call in as_dicts(delta.get("tool_calls"))):
        if call.get("id") and call.get("type") not in ("function", "custom"):
            yield "a tool call starts without its type"
    details = [entry for delta in deltas for entry in as_dicts(delta.get("reasoning_details"))]
    thought = "".join(str(entry.get("text") or entry.get("summary") or "") for entry in details)
    if details and "".join(str(delta.get("reasoning_content") or "") for delta in deltas) != thought:
        yield "reasoning_content is not what reasoning_details say"
