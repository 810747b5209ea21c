"""The format of streams: everything that official clients would reject is found."""

from __future__ import annotations

from typing import Any

import pytest

from demeanor.core.exchange import Request, Response, StopReason, Usage
from demeanor.core.messages import Text, Thinking, ToolCall
from demeanor.gateway.contract.view import events_of
from demeanor.gateway.contract.wellformed import stream_problems
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.stream_events import deltas_of

ANSWER = Response(
    parts=(
        Thinking(text="Hm.", signature="c2ln"),
        Text(text="Hello"),
        ToolCall(id="call_1", name="read", arguments={"a": 1}, raw='{"a": 1}'),
        ToolCall(id="call_2", name="read", arguments={"a": 2}, raw='{"a": 2}'),
    ),
    stop=StopReason.TOOL_USE,
    usage=Usage(input=1, output=2),
)


def events(dialect: str) -> list[dict[str, Any]]:
    writer = DIALECTS[dialect].stream_writer(Request(model="m", messages=()))
    return events_of(b"".join([writer.write(delta) for delta in deltas_of(ANSWER)]) + writer.close())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_our_streams_are_well_formed(dialect: str) -> None:
    """No problem is reported."""
    assert stream_problems(dialect, events(dialect)) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_stream_without_its_end(dialect: str) -> None:
    """The missing end is reported, unless the stream broke off anyway."""
    truncated = events(dialect)[:-1]
    assert stream_problems(dialect, truncated)
    assert dialect == "openai-responses" or not stream_problems(dialect, truncated, broke=True)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_broken_stream_that_looks_complete(dialect: str) -> None:
    """A client would take half a response for a complete one."""
    assert stream_problems(dialect, events(dialect), broke=True) == [
        "the stream broke off, but ends as if it were complete"
    ]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_events(dialect: str) -> None:
    """An empty stream and invalid data are reported."""
    assert stream_problems(dialect, []) == ["there are no events"]
    assert stream_problems(dialect, events_of(b"data: nonsense\n\n")) == ["event 0: the data is not a JSON object"]


@pytest.mark.parametrize(
    ("dialect", "spoil", "complaint"),
    [
        ("openai-chat", lambda told: told[1:], "the first delta does not set the role"),
        ("openai-chat", lambda told: [*told[:-2], told[-1]], "exactly one finish_reason"),
        ("openai-chat", lambda told: [_with(told[0], id="other"), *told[1:]], "do not have the same id"),
        ("openai-chat", lambda told: [each for each in told if "call_2" not in str(each)], "starts without its id"),
        ("anthropic", lambda told: told[1:], "the first event is not message_start"),
        ("anthropic", lambda told: _without(told, "content_block_stop"), "starts before block"),
        ("anthropic", lambda told: [*told[:5], *told[9:]], "has the index"),
        ("anthropic", lambda told: [{**told[0], "name": ""}, *told[1:]], "an event's name is not its type"),
        ("openai-responses", lambda told: told[1:], "the first event is not response.created"),
        ("openai-responses", lambda told: [*told[:3], *told[4:]], "the events are not numbered from 0"),
        ("openai-responses", lambda told: _without(told, "response.output_item.added"), "which is not open"),
        ("openai-responses", lambda told: _without(told, "response.output_item.done"), "does not have the items"),
        (
            "openai-responses",
            lambda told: _without(told, "response.function_call_arguments.delta"),
            "the concatenation of",
        ),
        ("gemini", lambda told: [told[-1], *told], "exactly one finishReason"),
        ("gemini", lambda told: [*told, {"name": "", "data": "[DONE]"}], "there is a [DONE]"),
        ("gemini", lambda told: [_bare(each) for each in told], "no usage"),
    ],
)
def test_damaged_streams(dialect: str, spoil: Any, complaint: str) -> None:
    """Each problem is reported."""
    assert any(complaint in each for each in stream_problems(dialect, spoil(events(dialect))))


def _with(event: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**event, "data": {**event["data"], **fields}}


def _without(told: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [each for each in told if each["name"] != name]


def _bare(event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "data": {key: value for key, value in event["data"].items() if key != "usageMetadata"}}
