"""The chat dialect: lossless round trips, and exact streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from demeanor.core.values.exchange import ProviderError, Request, StopReason, Usage
from demeanor.core.values.messages import Document, Image, Message, Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Malformed, Route
from demeanor.gateway.dialects.errors import read_error
from demeanor.gateway.dialects.stream_events import Interrupted, assemble, deltas_of
from tests.gateway.dialects.helpers import SIZES, in_pieces

CHAT = DIALECTS["openai-chat"]
GENERATE = Route(operation="generate")

REQUEST: dict[str, Any] = {
    "model": "gpt-4o",
    "stream": True,
    "stream_options": {"include_usage": True},
    "temperature": 0,
    "stop": "END",
    "max_completion_tokens": 100,
    "tool_choice": {"type": "function", "function": {"name": "read"}},
    "user": "somebody",
    "tools": [
        {"type": "function", "function": {"name": "read", "description": "Reads", "parameters": {}, "strict": True}},
        {"type": "custom", "custom": {"name": "patch", "format": {"type": "text"}}},
    ],
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "name": "dev", "content": [{"type": "text", "text": "Be kind."}]},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look", "cache_control": {"type": "ephemeral"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                {"type": "file", "file": {"file_data": "data:application/pdf;base64,BBBB", "filename": "a.pdf"}},
                {"type": "input_audio", "input_audio": {"data": "CCCC", "format": "wav"}},
            ],
        },
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}},
                {"id": "call_2", "type": "function", "function": {"name": "read", "arguments": '{"path": '}},
                {"id": "call_3", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}},
                {"id": "call_4", "type": "function", "function": {"name": "list", "arguments": ""}},
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "one"},
        {
            "role": "tool",
            "tool_call_id": "call_2",
            "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        },
        {"role": "assistant", "content": "", "reasoning_content": "Hm."},
        {"role": "assistant", "content": "Ok", "reasoning": "Hm.", "refusal": None},
        {
            "role": "assistant",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
        },
        {
            "role": "assistant",
            "content": "x",
            "reasoning_details": [
                {"type": "reasoning.text", "text": "t", "signature": "s", "format": "anthropic-claude-v1", "index": 0},
                {"type": "reasoning.encrypted", "data": "e", "id": "rs_1", "index": 1},
            ],
        },
        {"role": "user", "content": ""},
    ],
}

RESPONSE: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1700000000,
    "model": "gpt-4o-2024",
    "service_tier": "default",
    "choices": [
        {
            "index": 0,
            "logprobs": None,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "annotations": [],
                "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": '{"path":"a"}'}}
                ],
            },
        }
    ],
    "usage": {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 60, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 8},
    },
}


def read(request: dict[str, Any]) -> Request:
    return CHAT.read_request(json.dumps(request).encode(), GENERATE)


def ask(**fields: Any) -> Request:
    return read({"model": "m", "messages": [], **fields})


def test_request_round_trip() -> None:
    """A request of this dialect is written back field for field."""
    assert json.loads(CHAT.write_request(read(REQUEST)).body) == REQUEST


def test_response_round_trip() -> None:
    """A response of this dialect is written back field for field."""
    response = CHAT.read_response(json.dumps(RESPONSE).encode())
    assert json.loads(CHAT.write_response(response, ask()).body) == RESPONSE


def test_request_is_understood() -> None:
    """The canonical form has the conversation, the calls and the settings."""
    request = read(REQUEST)
    assert request.system == "Be brief.\n\nBe kind."
    calls = [part for message in request.messages for part in message.parts if isinstance(part, ToolCall)]
    assert [(call.name, call.malformed) for call in calls[:3]] == [("read", False), ("read", True), ("patch", False)]
    assert calls[1].raw == '{"path": '
    results = [part for message in request.messages for part in message.parts if isinstance(part, ToolResult)]
    assert [(result.call_id, result.text) for result in results] == [("call_1", "one"), ("call_2", "a\nb")]
    assert (request.sampling.temperature, request.sampling.max_tokens, request.sampling.stop) == (0, 100, ("END",))
    assert (request.tool_choice, request.stream) == ("read", True)


def test_response_is_understood() -> None:
    """Cached tokens are part of the input, reasoning tokens part of the output."""
    response = CHAT.read_response(json.dumps(RESPONSE).encode())
    assert response.usage == Usage(input=100, output=20, cache_read=60, reasoning=8)
    assert response.stop is StopReason.TOOL_USE
    assert response.calls[0].arguments == {"path": "a"}


@pytest.mark.parametrize("field", ["file", "image_url"])
def test_a_part_of_another_type_is_kept(field: str) -> None:
    """Whatever fields it has, and if those of its own type are missing."""
    content = [{"type": "other", field: {"file_data": "x", "url": "y"}}, {"type": field, "id": "f1"}]
    request = ask(messages=[{"role": "user", "content": content}])
    assert [part.kind for part in request.messages[0].parts] == ["opaque", "opaque"]
    assert json.loads(CHAT.write_request(request).body)["messages"][0]["content"] == content


def test_data_without_a_type_get_one() -> None:
    """A data URL has to name it."""
    message = Message(role="user", parts=(Document(data="AAAA"), Image(data="AAAA")))
    file, image = json.loads(CHAT.write_request(Request(model="m", messages=(message,))).body)["messages"][0]["content"]
    assert file["file"] == {"file_data": "data:application/octet-stream;base64,AAAA"}
    assert image["image_url"] == {"url": "data:image/png;base64,AAAA"}


def test_details_with_the_same_index_are_one() -> None:
    """Fragments of reasoning with the same index are merged; an encrypted entry without data is dropped."""
    details = [
        {"type": "reasoning.text", "text": "First. ", "index": 0},
        {"type": "reasoning.text", "text": "Second.", "signature": "s", "index": 0},
        {"type": "reasoning.encrypted", "index": 1},
    ]
    request = ask(messages=[{"role": "assistant", "content": "x", "reasoning_details": details}])
    thoughts = [part for part in request.messages[0].parts if isinstance(part, Thinking)]
    assert [(thought.text, thought.signature) for thought in thoughts] == [("First. Second.", "s")]
    written = json.loads(CHAT.write_request(request).body)["messages"][0]["reasoning_details"]
    assert written == [{"type": "reasoning.text", "text": "First. Second.", "signature": "s", "index": 0}]


def stream(*chunks: dict[str, Any], done: bool = True) -> bytes:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    lines = [f"data: {json.dumps({**head, **chunk})}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n" if done else ""]).encode()


def choice(stop: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": stop}]}


def piece(index: int, arguments: str, **head: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **{key: head.pop(key) for key in ("name",) if key in head}}
    return {"index": index, "function": function, **head}


STREAM = stream(
    choice(role="assistant", content=""),
    choice(reasoning_content="Hm"),
    choice(reasoning_content="m."),
    choice(content="Hé"),
    choice(content="llo"),
    choice(tool_calls=[piece(0, "", id="a", name="read", type="function")]),
    choice(tool_calls=[piece(1, "", id="b", name="list", type="function")]),
    choice(tool_calls=[piece(0, '{"x"'), piece(1, "{")]),
    choice(tool_calls=[piece(1, "}"), piece(0, ":1}")]),
    choice("tool_calls"),
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}},
)


def test_stream_is_the_same_for_any_chunk_size() -> None:
    """Every byte boundary gives the same response, with interleaved calls separated."""
    complete = assemble(list(CHAT.stream_reader().feed(STREAM)))
    assert [(call.id, call.arguments) for call in complete.calls] == [("a", {"x": 1}), ("b", {})]
    assert (complete.text, complete.stop, complete.usage.output) == ("Héllo", StopReason.TOOL_USE, 4)
    for size in SIZES:
        assert assemble(in_pieces(CHAT, STREAM, size)) == complete


def test_stream_written_is_read_back() -> None:
    """A response written as a stream is read back unchanged."""
    complete = assemble(list(CHAT.stream_reader().feed(STREAM)))
    writer = CHAT.stream_writer(ask(stream=True, stream_options={"include_usage": True}))
    body = b"".join([writer.write(delta) for delta in deltas_of(complete)]) + writer.close()
    again = assemble(list(CHAT.stream_reader().feed(body)))
    assert (again.parts, again.stop, again.usage) == (complete.parts, complete.stop, complete.usage)
    assert body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (STREAM[:200], "cut"),
        (b"", "cut"),
        (b"data: {not json}\n\n", "server"),
        (b'data: {"choices": 3}\n\n', "server"),
        (b'data: {"error": {"message": "slow down", "code": 429}}\n\n', "rate_limit"),
    ],
)
def test_broken_stream(body: bytes, reason: str) -> None:
    """A stream that breaks off or is malformed yields an error and raises nothing."""
    reader = CHAT.stream_reader()
    last = [*reader.feed(body), *reader.close()][-1]
    assert isinstance(last, Interrupted)
    assert last.error.reason == reason


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (b"", "the body"),
        (b"[]", "the body"),
        (b'{"model": 3, "messages": []}', "model"),
        (b'{"model": "m", "messages": [{"role": "user", "content": 3}]}', "messages[0].content"),
        (b'{"model": "m", "messages": [], "temperature": 1e999}', "too big"),
        (b'{"model": "m", "messages": ' + b"[" * 100_000, "nested"),
        (b'{"model": "m", "messages": [], "x": "\xff"}', "UTF-8"),
    ],
)
def test_malformed_request(body: bytes, place: str) -> None:
    """Malformed bytes are refused with the path to the problem."""
    with pytest.raises(Malformed) as caught:
        CHAT.read_request(body, GENERATE)
    assert place in str(caught.value)


def test_a_lone_surrogate_is_replaced() -> None:
    """Text that can't be stored as UTF-8 is not accepted."""
    request = CHAT.read_request(b'{"model": "m", "messages": [{"role": "user", "content": "a\\ud83d"}]}', GENERATE)
    assert request.messages[0].parts == (Text(text="a\ufffd"),)


def test_error_round_trip() -> None:
    """An error has a matching status and the provider's own words."""
    shown = CHAT.write_error(ProviderError(status=None, reason="budget", message="spent"))
    assert (shown.status, json.loads(shown.body)["error"]["type"]) == (402, "insufficient_quota")
    read_back = read_error(401, b'{"error": {"message": "Incorrect API key provided: sk-abcdefgh"}}')
    assert (read_back.reason, read_back.message) == ("auth", "Incorrect API key provided: sk-abcdefgh")


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [
        ("POST", "/v1/chat/completions", "generate"),
        ("POST", "/chat/completions", "generate"),
        ("GET", "/v1/models", "models"),
        ("HEAD", "/", "probe"),
        ("POST", "/v1/messages", None),
    ],
)
def test_routes(method: str, path: str, operation: str | None) -> None:
    """Each path has its route, or none."""
    route = CHAT.route(method, path, {})
    assert (route.operation if route else None) == operation


def test_a_stream_without_a_finish_reason_is_the_providers_error():
    """Also if `[DONE]` ends it: the answer may lack its end, so it must not be judged as the agent's."""
    chunk = {"id": "c1", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]}
    deltas = list(CHAT.stream_reader().feed(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode()))
    assert isinstance(deltas[-1], Interrupted)
    assert deltas[-1].error.message == "the stream ended without a finish_reason"
