"""The format of streams: everything that official clients would reject is found."""

from __future__ import annotations

from typing import Any

import pytest

from demeanor.core.values.exchange import Request, Response, StopReason, Usage
from demeanor.core.values.messages import Text, Thinking, ToolCall
from demeanor.gateway.contract.view import events_of
from demeanor.gateway.contract.wellformed import Note, stream_problems
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


def _with_stop(event: dict[str, Any]) -> dict[str, Any]:
    candidate = {**event["data"]["candidates"][0], "finishReason": "STOP"}
    return _with(event, candidates=[candidate])


def _with(event: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {**event, "data": {**event["data"], **fields}}


def _without(stream: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [each for each in stream if each["name"] != name]


def _bare(event: dict[str, Any]) -> dict[str, Any]:
    return {**event, "data": {key: value for key, value in event["data"].items() if key != "usageMetadata"}}


@pytest.mark.parametrize(
    ("dialect", "spoil", "complaint"),
    [
        ("openai-chat", lambda stream: stream[1:], "the first delta does not set the role"),
        ("openai-chat", lambda stream: [*stream[:-2], stream[-1]], "there is no finish_reason"),
        ("openai-chat", lambda stream: [_with(stream[0], id="other"), *stream[1:]], "do not have the same id"),
        (
            "openai-chat",
            lambda stream: [each for each in stream if "call_2" not in str(each)],
            "starts without its id",
        ),
        ("anthropic", lambda stream: stream[1:], "the first event is not message_start"),
        ("anthropic", lambda stream: _without(stream, "content_block_stop"), "starts before block"),
        ("anthropic", lambda stream: [*stream[:5], *stream[9:]], "has the index"),
        ("anthropic", lambda stream: [{**stream[0], "name": ""}, *stream[1:]], "an event's name is not its type"),
        ("openai-responses", lambda stream: stream[1:], "the first event is not response.created"),
        ("openai-responses", lambda stream: [*stream[:3], *stream[4:]], "the events are not numbered from 0"),
        ("openai-responses", lambda stream: _without(stream, "response.output_item.added"), "which was never added"),
        ("openai-responses", lambda stream: _without(stream, "response.output_item.done"), "does not have the items"),
        (
            "openai-responses",
            lambda stream: _without(stream, "response.function_call_arguments.delta"),
            "are not streamed",
        ),
        ("gemini", lambda stream: [stream[-1], *stream], "exactly one finishReason"),
        ("gemini", lambda stream: [*stream, {"name": "", "data": "[DONE]"}], "there is a [DONE]"),
        ("gemini", lambda stream: [_bare(each) for each in stream], "no usage"),
    ],
)
def test_damaged_streams(dialect: str, spoil: Any, complaint: str) -> None:
    """Each problem is reported."""
    assert any(complaint in each for each in stream_problems(dialect, spoil(events(dialect))))


def chunk(data: Any) -> dict[str, Any]:
    """An event of a chat stream."""
    return {"name": "", "data": data}


def openrouter(*deltas: Any, finish: str = "stop") -> list[dict[str, Any]]:
    """A chat stream as OpenRouter sends it: the usage comes with an empty delta after the finish reason."""
    head = {"id": "gen-1", "provider": "Acme", "model": "acme/large", "object": "chat.completion.chunk", "created": 1}

    def choice(delta: Any, reason: str | None = None) -> dict[str, Any]:
        fields = {"finish_reason": reason, "native_finish_reason": reason, "logprobs": None}
        return {"index": 0, "delta": {"role": "assistant", "content": "", **delta}, **fields}

    ends = [{**head, "choices": [choice({}, finish)]}, {**head, "choices": [choice({})], "usage": {"prompt_tokens": 9}}]
    return [chunk(data) for data in [*({**head, "choices": [choice(delta)]} for delta in deltas), *ends, "[DONE]"]]


def call(index: int | None, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    """A delta with a fragment of a tool call."""
    function = {"name": name, "arguments": arguments}
    return {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}


AZURE = [
    chunk({"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": []}),
    chunk(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi."}, "finish_reason": None}],
        }
    ),
    chunk(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": None, "finish_reason": "stop"}],
        }
    ),
    chunk("[DONE]"),
]
VERTEX = {"name": "vertex_event", "data": {"type": "vertex_event", "usage": {}}}
START = {
    "name": "message_start",
    "data": {"type": "message_start", "message": {"content": [], "stop_reason": "tool_use"}},
}
STOP = {"name": "message_stop", "data": {"type": "message_stop"}}


def renumbered(stream: list[dict[str, Any]], **fields: Any) -> list[dict[str, Any]]:
    """A Responses stream without sequence numbers and with other fields in its items."""
    changed = []
    for event in stream:
        data = {key: value for key, value in event["data"].items() if key != "sequence_number"}
        if "item" in data and event["name"].endswith("done"):
            data["item"] = {**data["item"], **fields}
        changed.append({**event, "data": data})
    return changed


def hosted(stream: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A Responses stream that lists the tools of a server in its last event only, as OpenAI's do."""
    response = stream[-1]["data"]["response"]
    tools = {"id": "mcpl_1", "type": "mcp_list_tools", "server_label": "wiki", "tools": []}
    return [*stream[:-1], _with(stream[-1], response={**response, "output": [tools, *response["output"]]})]


@pytest.mark.parametrize(
    ("dialect", "stream", "note"),
    [
        ("openai-chat", openrouter({"content": "Hi."}), "an empty delta comes after the finish_reason"),
        (
            "openai-chat",
            openrouter(call(0, "call_1", "read", ""), call(0, "call_1", "read", "{}"), finish="tool_calls"),
            "tool call 0 gets its id twice",
        ),
        (
            "openai-chat",
            openrouter(call(0, None, "read", ""), call(0, "call_1", None, "{}"), finish="tool_calls"),
            "tool call 0 starts without its id or name",
        ),
        ("openai-chat", AZURE, "the chunks do not have the same id"),
        ("openai-chat", AZURE, "a chunk's object is not chat.completion.chunk"),
        ("openai-chat", AZURE[2:], "the first delta does not set the role"),
        ("anthropic", [VERTEX, *events("anthropic")], "the event vertex_event is unknown"),
        ("anthropic", [START, STOP], "message_start contains the whole message"),
        ("openai-responses", renumbered(events("openai-responses")), "the events are not numbered from 0"),
        (
            "openai-responses",
            renumbered(events("openai-responses"), encrypted_content="other"),
            "the completed response repeats the streamed items with differences",
        ),
        (
            "openai-responses",
            [
                _with(each, item_id="rotated") if "item_id" in each["data"] else each
                for each in events("openai-responses")
            ],
            "response.output_text.delta has another item_id than item 1",
        ),
        (
            "openai-responses",
            hosted(events("openai-responses")),
            "the completed response repeats the streamed items with differences",
        ),
        (
            "openai-responses",
            [*events("openai-responses"), *events("openai-responses")],
            "an event comes after the end of the response",
        ),
        ("gemini", [_with_stop(each) for each in events("gemini")], "there is not exactly one finishReason"),
    ],
)
def test_differences_between_providers_are_notes(dialect: str, stream: list[dict[str, Any]], note: str) -> None:
    """Official clients read these streams, so they are accepted, and the difference is shown."""
    found = stream_problems(dialect, stream)
    assert [each for each in found if not isinstance(each, Note)] == []
    assert any(each.startswith(note) for each in found), found


@pytest.mark.parametrize(
    ("dialect", "stream", "problem"),
    [
        ("openai-chat", openrouter(call(None, "call_1", "read", "{}")), "a fragment of a tool call has no index"),
        ("openai-chat", openrouter(call(0, None, "read", "{}")), "tool call 0 has no id"),
        (
            "openai-chat",
            openrouter(call(0, "call_1", "read", ""), call(0, "call_2", None, "{}")),
            "tool call 0 gets another id",
        ),
        ("openai-chat", [*AZURE[:3], AZURE[1], AZURE[3]], "content comes after the finish_reason"),
        ("openai-chat", AZURE[:3], "the last event is not [DONE]"),
        ("anthropic", [*events("anthropic")[:-2], STOP], "the last events are not message_delta and message_stop"),
        (
            "openai-responses",
            [
                each
                for each in events("openai-responses")
                if each["name"] != "response.function_call_arguments.delta" or each["data"]["delta"] != "}"
            ][:-1],
            "no event ends the response",
        ),
    ],
)
def test_what_clients_rely_on_is_a_problem(dialect: str, stream: list[dict[str, Any]], problem: str) -> None:
    """A stream that official clients can't read is not accepted."""
    found = [each for each in stream_problems(dialect, stream) if not isinstance(each, Note)]
    assert problem in found
