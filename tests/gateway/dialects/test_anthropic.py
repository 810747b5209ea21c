"""The Anthropic dialect: lossless round trips, and exact streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from demeanor.core.values.exchange import ProviderError, Request, StopReason, Usage
from demeanor.core.values.messages import Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Malformed, Route
from demeanor.gateway.dialects.errors import read_error
from demeanor.gateway.dialects.stream_events import Began, Interrupted, PartClosed, assemble, deltas_of
from tests.gateway.dialects.helpers import SIZES, in_pieces

ANTHROPIC = DIALECTS["anthropic"]
GENERATE = Route(operation="generate")
EPHEMERAL = {"type": "ephemeral"}

REQUEST: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 1000,
    "stream": True,
    "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind.", "cache_control": EPHEMERAL}],
    "thinking": {"type": "enabled", "budget_tokens": 2000},
    "tool_choice": {"type": "tool", "name": "read", "disable_parallel_tool_use": True},
    "metadata": {"user_id": "somebody"},
    "stop_sequences": ["END"],
    "temperature": 1.0,
    "tools": [
        {"name": "read", "description": "Reads", "input_schema": {"type": "object"}, "cache_control": EPHEMERAL},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
        {"type": "custom", "name": "bare", "input_schema": {}},
    ],
    "messages": [
        {"role": "user", "content": "Hello"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look", "cache_control": EPHEMERAL},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}},
                {"type": "image", "source": {"type": "file", "file_id": "f1"}},
                {
                    "type": "document",
                    "title": "T",
                    "citations": {"enabled": True},
                    "source": {"type": "text", "media_type": "text/plain", "data": "plain"},
                },
                {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "x"}]}},
                {"type": "search_result", "source": "s", "title": "t", "content": []},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
                {"type": "thinking", "thinking": "", "signature": "only"},
                {"type": "redacted_thinking", "data": "secret"},
                {"type": "text", "text": "Reading", "citations": None},
                {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
                {"type": "tool_use", "id": "toolu_2", "name": "read", "input": {"INVALID_JSON": "{bad"}},
                {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "x"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one", "cache_control": EPHEMERAL},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_2",
                    "is_error": True,
                    "content": [
                        {"type": "text", "text": "two"},
                        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "BBBB"}},
                    ],
                },
                {"type": "tool_result", "tool_use_id": "toolu_3"},
                {"type": "tool_result", "tool_use_id": "toolu_4", "content": ""},
                {"type": "tool_result", "tool_use_id": "toolu_5", "content": [{"type": "tool_reference", "name": "n"}]},
            ],
        },
        {"role": "system", "content": "From now on, be loud."},
        {"role": "assistant", "content": ""},
    ],
}

RESPONSE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5-20250929",
    "content": [
        {"type": "thinking", "thinking": "Hm.", "signature": "sig"},
        {"type": "text", "text": "Reading"},
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {"path": "a"}},
    ],
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 60,
        "cache_creation_input_tokens": 30,
        "output_tokens": 20,
        "service_tier": "standard",
    },
}


def read(request: dict[str, Any]) -> Request:
    return ANTHROPIC.read_request(json.dumps(request).encode(), GENERATE)


def ask(**fields: Any) -> Request:
    return read({"model": "m", "max_tokens": 1, "messages": [], **fields})


@pytest.mark.parametrize("system", [REQUEST["system"], "Be brief.", "", []])
def test_request_round_trip(system: Any) -> None:
    """A request of this dialect is written back field for field."""
    request = {**REQUEST, "system": system}
    assert json.loads(ANTHROPIC.write_request(read(request)).body) == request


def test_response_round_trip() -> None:
    """A response of this dialect is written back field for field."""
    response = ANTHROPIC.read_response(json.dumps(RESPONSE).encode())
    assert json.loads(ANTHROPIC.write_response(response, ask()).body) == RESPONSE


def test_request_is_understood() -> None:
    """The canonical form has the conversation, the calls, the results and the settings."""
    request = read(REQUEST)
    parts = [part for message in request.messages for part in message.parts]
    assert request.system == "Be brief.Be kind.\n\nFrom now on, be loud."
    calls = [part for part in parts if isinstance(part, ToolCall)]
    assert [(call.arguments, call.raw) for call in calls] == [({"path": "a"}, '{"path":"a"}'), (None, "{bad")]
    thoughts = [part for part in parts if isinstance(part, Thinking)]
    assert [(thought.signature, thought.encrypted) for thought in thoughts] == [
        ("sig", None),
        ("only", None),
        (None, "secret"),
    ]
    results = [part for part in parts if isinstance(part, ToolResult)]
    assert [(result.text, result.is_error) for result in results[:2]] == [("one", None), ("two", True)]
    assert (request.tool_choice, request.parallel_tools, request.reasoning.budget) == ("read", False, 2000)


def test_a_request_without_a_limit_gets_one() -> None:
    """The API requires `max_tokens`."""
    request = json.loads(ANTHROPIC.write_request(Request(model="m", messages=())).body)
    assert request["max_tokens"] == 8192


def test_media_without_a_source_are_kept() -> None:
    """A kind of picture that is not known is written back as it was."""
    content = [{"type": "image", "file_id": "f"}, {"type": "video", "source": {"type": "url", "url": "u"}}]
    request = ask(messages=[{"role": "user", "content": content}])
    assert json.loads(ANTHROPIC.write_request(request).body)["messages"][0]["content"] == content


def test_cached_tokens_are_input() -> None:
    """Anthropic excludes cached tokens from its input; the canonical count includes them."""
    response = ANTHROPIC.read_response(json.dumps(RESPONSE).encode())
    assert response.usage == Usage(input=100, output=20, cache_read=60, cache_write=30)
    assert response.stop is StopReason.TOOL_USE


def test_a_response_with_null_usage_round_trips() -> None:
    """`"usage": null` means unknown counts, and is written back as it was."""
    response = ANTHROPIC.read_response(json.dumps({**RESPONSE, "usage": None}).encode())
    assert response.usage == Usage()
    written = json.loads(ANTHROPIC.write_response(response, Request(model="m", messages=())).body)
    assert written["usage"] is None


@pytest.mark.parametrize(
    ("word", "stop"),
    [
        ("end_turn", StopReason.END),
        ("max_tokens", StopReason.LENGTH),
        ("stop_sequence", StopReason.STOP_SEQUENCE),
        ("pause_turn", StopReason.PAUSE),
        ("refusal", StopReason.REFUSAL),
    ],
)
def test_stop_reasons_are_known(word: str, stop: StopReason) -> None:
    """In a response that is not streamed; it is written with the same word."""
    said = {**RESPONSE, "content": [{"type": "text", "text": "Hi."}], "stop_reason": word}
    response = ANTHROPIC.read_response(json.dumps(said).encode())
    assert response.stop is stop
    written = ANTHROPIC.write_response(response, Request(model="m", messages=()))
    assert json.loads(written.body)["stop_reason"] == word


def test_unsigned_thinking_is_not_sent_to_the_model() -> None:
    """Anthropic refuses thinking that it did not sign, and cache markers on thinking."""
    content = [
        {"type": "thinking", "thinking": "mine", "signature": "s", "cache_control": EPHEMERAL},
        {"type": "thinking", "thinking": "not mine"},
        {"type": "text", "text": "x"},
    ]
    request = ask(messages=[{"role": "user", "content": "a"}, {"role": "assistant", "content": content}])
    shown = json.loads(ANTHROPIC.write_request(request).body)["messages"][1]["content"]
    assert shown == [{"type": "thinking", "thinking": "mine", "signature": "s"}, {"type": "text", "text": "x"}]


def stream(*events: dict[str, Any]) -> bytes:
    return "".join(f"event: {event['type']}\r\ndata: {json.dumps(event)}\r\n\r\n" for event in events).encode()


def block(index: int, content: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    grown = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    start = {"type": "content_block_start", "index": index, "content_block": content}
    return [start, *grown, {"type": "content_block_stop", "index": index}]


def json_delta(text: str) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


START = {"type": "message_start", "message": {**RESPONSE, "content": [], "stop_reason": None}}
STREAM = stream(
    START,
    {"type": "ping"},
    *block(
        0,
        {"type": "thinking", "thinking": "", "signature": ""},
        {"type": "thinking_delta", "thinking": "Hm"},
        {"type": "thinking_delta", "thinking": "."},
        {"type": "signature_delta", "signature": "sig"},
    ),
    *block(1, {"type": "text", "text": ""}, {"type": "text_delta", "text": "Hé"}),
    *block(
        2,
        {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
        json_delta('{"path"'),
        json_delta(': "a"}'),
    ),
    *block(3, {"type": "tool_use", "id": "toolu_2", "name": "list", "input": {"deep": True}}),
    *block(4, {"type": "redacted_thinking", "data": "secret"}),
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 40},
    },
    {"type": "message_stop"},
)


def test_stream_is_the_same_for_any_chunk_size() -> None:
    """Every byte boundary gives the same response."""
    complete = assemble(list(ANTHROPIC.stream_reader().feed(STREAM)))
    assert [(call.id, call.arguments) for call in complete.calls] == [
        ("toolu_1", {"path": "a"}),
        ("toolu_2", {"deep": True}),
    ]
    assert (complete.text, complete.stop, complete.usage.output, complete.usage.input) == (
        "Hé",
        StopReason.TOOL_USE,
        40,
        100,
    )
    for size in SIZES:
        assert assemble(in_pieces(ANTHROPIC, STREAM, size)) == complete


def test_stream_written_is_read_back() -> None:
    """A response written as a stream is read back unchanged, with the events in the order that clients expect."""
    complete = assemble(list(ANTHROPIC.stream_reader().feed(STREAM)))
    writer = ANTHROPIC.stream_writer(ask(stream=True))
    body = b"".join([writer.write(delta) for delta in deltas_of(complete)]) + writer.close()
    again = assemble(list(ANTHROPIC.stream_reader().feed(body)))
    assert again.parts == complete.parts
    assert (again.stop, again.usage, again.id) == (complete.stop, complete.usage, complete.id)
    names = [line[7:] for line in body.decode().splitlines() if line.startswith("event: ")]
    block_names = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert names[:4] == ["message_start", *block_names[:2], "content_block_delta"]
    assert names[-2:] == ["message_delta", "message_stop"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (STREAM[:900], "cut"),
        (b"", "cut"),
        (b"event: message_start\ndata: {\n\n", "server"),
        (stream(START, {"type": "content_block_delta", "index": 7, "delta": {}}), "server"),
        (stream(START, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}), "overloaded"),
    ],
)
def test_broken_stream(body: bytes, reason: str) -> None:
    """A stream that breaks off or is malformed yields an error and raises nothing."""
    reader = ANTHROPIC.stream_reader()
    last = [*reader.feed(body), *reader.close()][-1]
    assert isinstance(last, Interrupted)
    assert last.error.reason == reason


def test_malformed_request() -> None:
    """Malformed bytes are refused with the path to the problem."""
    with pytest.raises(Malformed, match=r"messages\[0\]\.content\[1\]\.text: expected a string, found null"):
        ask(messages=[{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text"}]}])


def test_errors() -> None:
    """Errors have the types and statuses of Anthropic's API."""
    shown = ANTHROPIC.write_error(ProviderError(status=None, reason="overloaded", message="busy"))
    assert (shown.status, json.loads(shown.body)) == (
        529,
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
    )
    assert read_error(529, shown.body) == ProviderError(status=529, reason="overloaded", message="busy")


def test_routes_and_keys() -> None:
    """Token counts have their own path; the key is in its own header."""
    options = [
        route.operation if (route := ANTHROPIC.route("POST", path, {})) else None
        for path in ("/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions")
    ]
    assert options == ["generate", "count_tokens", None]
    assert ANTHROPIC.token({"x-api-key": "k"}, {}) == ANTHROPIC.token({"authorization": "Bearer k"}, {}) == "k"


def test_a_block_without_its_end_ends_with_the_message() -> None:
    """Its arguments may all have come at its start."""
    call = {"type": "tool_use", "id": "t1", "name": "read", "input": {"path": "ä"}}
    events = [START, *block(0, call)[:-1], {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}]
    deltas = in_pieces(ANTHROPIC, stream(*events, {"type": "message_stop"}), 64)
    assert [found.arguments for found in assemble(deltas).calls] == [{"path": "ä"}]
    assert deltas[-2] == PartClosed(index=0)


def test_counts_that_are_no_numbers_end_a_stream() -> None:
    """Also those that a later event replaces."""
    broken = {**START, "message": {**START["message"], "usage": {"input_tokens": "many"}}}
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 1}}
    deltas = in_pieces(ANTHROPIC, stream(broken, end, {"type": "message_stop"}), 64)
    assert [type(delta) for delta in deltas] == [Interrupted]


def test_a_streamed_answer_without_a_model_has_that_of_the_request() -> None:
    """Clients require the field."""
    writer = ANTHROPIC.stream_writer(Request(model="asked-for", messages=()))
    assert b'"model":"asked-for"' in writer.write(Began())
