"""What the events of a stream say more than once, and the fields that each of them has by its specification.

Clients read different ones of them: one joins the pieces of a text, another takes the whole text of the event that ends
it. Many get by with less, so whatever is missing or contradicts itself is a difference, not a problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from demeanor.core.text.json_values import as_dict, as_dicts, as_whole

Json: TypeAlias = dict[str, Any]

_WHOLE = {
    "output_text": "text",
    "refusal": "refusal",
    "reasoning_text": "text",
    "reasoning_summary_text": "text",
    "function_call_arguments": "arguments",
    "custom_tool_call_input": "input",
}
"""What arrives in pieces in the Responses API, and the field with the whole in the event that ends it."""

_CONTENT = ("content_part", "output_text", "refusal", "reasoning_text")
_SUMMARY = ("reasoning_summary_part", "reasoning_summary_text")
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

_CHUNK = ("id", "object", "created", "model", "choices")
_CHOICE = ("index", "delta", "finish_reason")
_MESSAGE = ("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage")
_BLOCKS = {"text": ("text",), "thinking": ("thinking", "signature"), "tool_use": ("id", "name", "input")}


def differences(dialect: str, events_data: Sequence[Json]) -> Iterator[str]:
    """The fields that are missing or contradict others, as readable text."""
    yield from _DIFFERENCES[dialect](events_data)


def _missing(what: str, data: Json, fields: Sequence[str]) -> Iterator[str]:
    yield from (f"{what} has no {field}" for field in fields if field not in data)


def _vary(what: str, values: Sequence[Any]) -> Iterator[str]:
    if any(value != values[0] for value in values):
        yield f"{what} differ"


def _chat(chunks: Sequence[Json]) -> Iterator[str]:
    chunks = [chunk for chunk in chunks if not chunk.get("error")]
    choices = [choice for chunk in chunks for choice in as_dicts(chunk.get("choices"))]
    for chunk in chunks:
        yield from _missing("a chunk", chunk, _CHUNK)
        usage = as_dict(chunk.get("usage"))
        if usage and usage.get("total_tokens") != _sum(usage, "prompt_tokens", "completion_tokens"):
            yield "total_tokens is not the sum of the others"
    yield from _vary("the models of the chunks", [chunk.get("model") for chunk in chunks])
    yield from _vary("the times of the chunks", [chunk.get("created") for chunk in chunks])
    for choice in choices:
        yield from _missing("a choice", choice, _CHOICE)
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


def _message_start(message: Json) -> Iterator[str]:
    yield from _missing("message_start", message, _MESSAGE)
    if (message.get("type"), message.get("role")) != ("message", "assistant"):
        yield "message_start is not a message of the assistant"
    if not message.get("content") and (message.get("stop_reason") or message.get("stop_sequence")):
        yield "message_start has a stop_reason"
    yield from _missing("the usage of message_start", as_dict(message.get("usage")), ("input_tokens",))


def _anthropic(events_data: Sequence[Json]) -> Iterator[str]:
    starts = [as_dict(data.get("message")) for data in events_data if data.get("type") == "message_start"]
    if len(starts) > 1:
        yield "there are several message_start"
    yield from (difference for message in starts for difference in _message_start(message))
    signed: set[str] = set()
    for data in events_data:
        kind, index, delta = data.get("type"), str(data.get("index")), as_dict(data.get("delta"))
        if kind == "content_block_start":
            block = as_dict(data.get("content_block"))
            fields = _BLOCKS.get(str(block.get("type")), ())
            yield from _missing("a block", block, fields)
            if fields and (block.get("input") or block.get("signature")):
                yield "a block starts with what is to follow"
        elif kind == "content_block_delta" and index in signed:
            yield f"block {index} goes on after its signature"
        elif kind == "message_delta":
            yield from _missing("message_delta", delta, ("stop_reason", "stop_sequence"))
            if (delta.get("stop_reason") == "stop_sequence") is (delta.get("stop_sequence") is None):
                yield "stop_sequence does not fit stop_reason"
        if delta.get("type") == "signature_delta":
            signed.add(index)


def _gemini(pieces: Sequence[Json]) -> Iterator[str]:
    pieces = [piece for piece in pieces if not piece.get("error")]
    yield from _vary("the responseIds of the pieces", [piece.get("responseId") for piece in pieces])
    yield from _vary("the modelVersions of the pieces", [piece.get("modelVersion") for piece in pieces])
    for piece in pieces:
        usage = as_dict(piece.get("usageMetadata"))
        counts = ("promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount")
        if usage and usage.get("totalTokenCount") != _sum(usage, *counts):
            yield "totalTokenCount is not the sum of the others"
        for candidate in as_dicts(piece.get("candidates")):
            yield from _missing("a content", as_dict(candidate.get("content")), ("role", "parts"))


def _responses(events_data: Sequence[Json]) -> Iterator[str]:
    kinds = [str(data.get("type")) for data in events_data]
    heads = [(kind, as_dict(data.get("response"))) for kind, data in zip(kinds, events_data, strict=True)]
    heads = [(kind, response) for kind, response in heads if kind in _STATUS]
    responses = [response for _, response in heads]
    yield from _vary("the ids of the response", [response.get("id") for response in responses])
    yield from _vary("the models of the response", [response.get("model") for response in responses])
    for kind, response in heads:
        yield from _missing(kind, response, _RESPONSE)
        if response.get("object") != "response":
            yield f"{kind} has no response"
        if response.get("status") not in _STATUS[kind]:
            yield f"{kind} has the status {response.get('status')}"
        usage = as_dict(response.get("usage"))
        if usage and usage.get("total_tokens") != _sum(usage, "input_tokens", "output_tokens"):
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
            yield from _missing(kind, data, ("output_index", "item") if subject == "output_item" else ())
            continue
        inner = "content_index" if subject in _CONTENT else "summary_index" if subject in _SUMMARY else "output_index"
        own = "delta" if step == "delta" else _WHOLE.get(subject, "part")
        stated = {key: value for key, value in data.items() if value is not None}
        yield from _missing(kind, stated, ("item_id", "output_index", inner, own))
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


def _sum(counts: Mapping[str, Any], *names: str) -> int:
    return sum(as_whole(counts.get(name)) or 0 for name in names)


_DIFFERENCES: dict[str, Callable[[Sequence[Json]], Iterator[str]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
