"""Streams of the Anthropic API."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from demeanor.core.text.json_values import as_dict
from demeanor.gateway.contract.wellformed import LOOKS_COMPLETE, Events, Json, Note, data_of, missing

_BLOCK_EVENTS = {"content_block_start", "content_block_delta", "content_block_stop"}
_EVENTS = frozenset({"message_start", *_BLOCK_EVENTS, "message_delta", "message_stop", "error"})
_MESSAGE = ("id", "type", "role", "model", "content", "stop_reason", "stop_sequence", "usage")
_BLOCKS = {"text": ("text",), "thinking": ("thinking", "signature"), "tool_use": ("id", "name", "input")}


def problems(events: Events, broke: bool) -> Iterator[str]:
    """What clients rely on; a stream that broke off needs no end."""
    kinds = [event["data"].get("type") for event in events]
    unknown = {kind for kind in kinds if kind not in _EVENTS and kind != "ping"}
    yield from (Note(f"the event {kind} is unknown") for kind in unknown)
    if any(event["name"] != event["data"].get("type") for event in events):
        yield "an event's name is not its type"
    known_events = [data for data in data_of(events) if data.get("type") in _EVENTS]
    kinds = [data["type"] for data in known_events]
    if "message_stop" in kinds[:-1]:
        yield Note("an event comes after message_stop")
        known_events = known_events[: kinds.index("message_stop") + 1]
        kinds = kinds[: len(known_events)]
    if kinds[:1] != ["message_start"]:
        yield "the first event is not message_start"
    if broke and "message_stop" in kinds:
        yield LOOKS_COMPLETE
    if not broke and kinds[-2:] != ["message_delta", "message_stop"]:
        whole = kinds[-1:] == ["message_stop"] and as_dict(known_events[0].get("message")).get("stop_reason")
        problem = "the last events are not message_delta and message_stop"
        yield Note("message_start contains the whole message") if whole else problem
    yield from _blocks(known_events, broke)
    for data in known_events:
        if data["type"] == "message_delta" and "output_tokens" not in as_dict(data.get("usage")):
            yield "message_delta does not report output_tokens"


def _blocks(events_data: Sequence[Json], broke: bool) -> Iterator[str]:
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


def differences(events_data: Sequence[Json]) -> Iterator[str]:
    """What is missing by the specification, or is said twice in different ways."""
    starts = [as_dict(data.get("message")) for data in events_data if data.get("type") == "message_start"]
    if len(starts) > 1:
        yield "there are several message_start"
    for message in starts:
        yield from _start_differences(message)
    signed: set[str] = set()
    for data in events_data:
        kind, index, delta = data.get("type"), str(data.get("index")), as_dict(data.get("delta"))
        if kind == "content_block_start":
            block = as_dict(data.get("content_block"))
            fields = _BLOCKS.get(str(block.get("type")), ())
            yield from missing("a block", block, fields)
            if fields and (block.get("input") or block.get("signature")):
                yield "a block starts with what is to follow"
        elif kind == "content_block_delta" and index in signed:
            yield f"block {index} goes on after its signature"
        elif kind == "message_delta":
            yield from missing("message_delta", delta, ("stop_reason", "stop_sequence"))
            if (delta.get("stop_reason") == "stop_sequence") is (delta.get("stop_sequence") is None):
                yield "stop_sequence does not fit stop_reason"
        if delta.get("type") == "signature_delta":
            signed.add(index)


def _start_differences(message: Json) -> Iterator[str]:
    yield from missing("message_start", message, _MESSAGE)
    if (message.get("type"), message.get("role")) != ("message", "assistant"):
        yield "message_start is not a message of the assistant"
    if not message.get("content") and (message.get("stop_reason") or message.get("stop_sequence")):
        yield "message_start has a stop_reason"
    yield from missing("the usage of message_start", as_dict(message.get("usage")), ("input_tokens",))
