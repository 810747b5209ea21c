"""The Responses dialect: lossless round trips, and exact streams."""

from __future__ import annotations

import json
from typing import Any

import pytest

from demeanor.core.values.exchange import Request, Response, StopReason, Usage
from demeanor.core.values.messages import Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Malformed, Route
from demeanor.gateway.dialects.stream_events import Delta, Interrupted, assemble, deltas_of
from tests.gateway.dialects.helpers import SIZES, in_pieces

RESPONSES = DIALECTS["openai-responses"]
GENERATE = Route(operation="generate")

REQUEST: dict[str, Any] = {
    "model": "gpt-5",
    "instructions": "Be brief.",
    "stream": True,
    "store": False,
    "include": ["reasoning.encrypted_content"],
    "reasoning": {"effort": "high", "summary": "auto"},
    "max_output_tokens": 100,
    "parallel_tool_calls": False,
    "prompt_cache_key": "k",
    "tool_choice": {"type": "function", "name": "read"},
    "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}},
    "tools": [
        {"type": "function", "name": "read", "description": "Reads", "parameters": {"type": "object"}, "strict": False},
        {"type": "custom", "name": "apply_patch", "description": "Patches", "format": {"type": "grammar"}},
        {"type": "web_search"},
    ],
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be kind."}]},
        {"role": "user", "content": "Hello"},
        {
            "role": "user",
            "content": [
                {"type": "input_text", "text": "Look"},
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA", "detail": "low"},
                {"type": "input_image", "file_id": "f1", "image_url": None, "detail": "auto"},
                {"type": "input_file", "file_data": "data:application/pdf;base64,BBBB", "filename": "a.pdf"},
                {"type": "input_file", "file_url": "https://example.com/a.pdf"},
                {"type": "input_audio", "input_audio": {"data": "CCCC"}},
            ],
        },
        {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "CCCC"}}]},
        {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "content": None},
        {"type": "reasoning", "summary": [], "encrypted_content": "secret", "status": None},
        {
            "type": "reasoning",
            "id": "rs_3",
            "summary": [],
            "content": [{"type": "reasoning_text", "text": "a"}, {"type": "reasoning_text", "text": "b"}],
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "phase": "commentary",
            "content": [{"type": "output_text", "text": "Reading", "annotations": []}],
        },
        {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": '{"path": "a"}'},
        {"type": "function_call", "call_id": "call_2", "name": "read", "arguments": "{bad", "status": "completed"},
        {"type": "function_call", "call_id": "call_0", "name": "list", "arguments": ""},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "call_3", "name": "apply_patch", "input": "*** Begin"},
        {
            "type": "local_shell_call",
            "id": "l",
            "call_id": "call_4",
            "action": {"command": ["ls"]},
            "status": "completed",
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "function_call_output", "call_id": "call_1", "output": "one"},
        {
            "type": "function_call_output",
            "id": "fco",
            "call_id": "call_2",
            "output": [
                {"type": "input_text", "text": "two"},
                {"type": "input_image", "image_url": "data:image/png;base64,DDDD"},
            ],
        },
        {"type": "custom_tool_call_output", "call_id": "call_3", "output": "three"},
        {"type": "local_shell_call_output", "call_id": "call_4", "output": "{}"},
        {"type": "function_call_output", "call_id": "call_0", "output": ""},
        {"type": "item_reference", "id": "msg_0"},
        {"role": "assistant", "content": ""},
    ],
}

RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1700000000,
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "model": "gpt-5-2025",
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm."}, {"type": "summary_text", "text": "So."}],
            "encrypted_content": "secret",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [
                {"type": "output_text", "text": "One", "annotations": [], "logprobs": []},
                {"type": "output_text", "text": "Two", "annotations": []},
            ],
        },
        {
            "type": "message",
            "id": "msg_2",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "refusal", "refusal": "No."}],
        },
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "read",
            "arguments": '{"path":"a"}',
            "status": "completed",
        },
        {
            "type": "custom_tool_call",
            "id": "ctc_1",
            "call_id": "call_2",
            "name": "apply_patch",
            "input": "x",
            "status": "completed",
        },
    ],
    "parallel_tool_calls": True,
    "tools": [],
    "usage": {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 60},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 8},
        "total_tokens": 120,
    },
}


def read(request: dict[str, Any]) -> Request:
    return RESPONSES.read_request(json.dumps(request).encode(), GENERATE)


def ask(**fields: Any) -> Request:
    return read({"model": "m", "input": [], **fields})


@pytest.mark.parametrize("fields", [{}, {"input": "Hello"}, {"input": ""}, {"instructions": ""}, {"tools": []}])
def test_request_round_trip(fields: dict[str, Any]) -> None:
    """A request of this dialect is written back field for field."""
    request = {**REQUEST, **fields}
    assert json.loads(RESPONSES.write_request(read(request)).body) == request


@pytest.mark.parametrize(
    "fields", [{}, {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, {"output": []}]
)
def test_response_round_trip(fields: dict[str, Any]) -> None:
    """A response of this dialect is written back field for field."""
    response = {**RESPONSE, **fields}
    assert (
        json.loads(RESPONSES.write_response(RESPONSES.read_response(json.dumps(response).encode()), ask()).body)
        == response
    )


def test_request_is_understood() -> None:
    """The canonical form has the prompts, the calls, the results and the settings."""
    request = read(REQUEST)
    parts = [part for message in request.messages for part in message.parts]
    assert request.system == "Be brief.\n\nBe kind."
    calls = [part for part in parts if isinstance(part, ToolCall)]
    assert [(call.id, call.name, call.arguments) for call in calls] == [
        ("call_1", "read", {"path": "a"}),
        ("call_2", "read", None),
        ("call_0", "list", {}),
        ("call_3", "apply_patch", {"input": "*** Begin"}),
        ("call_4", "local_shell", {"command": ["ls"]}),
    ]
    results = [part for part in parts if isinstance(part, ToolResult)]
    assert [(result.call_id, result.text) for result in results][:3] == [
        ("call_1", "one"),
        ("call_2", "two"),
        ("call_3", "three"),
    ]
    thoughts = [part for part in parts if isinstance(part, Thinking)]
    assert [(thought.summary, thought.encrypted, thought.text) for thought in thoughts] == [
        (("Hm.",), None, ""),
        ((), "secret", ""),
        ((), None, "ab"),
    ]
    assert (request.reasoning.effort, request.reasoning.show, request.tool_choice) == ("high", True, "read")
    assert request.json_schema == {"type": "object"}


def test_response_is_understood() -> None:
    """The canonical form has text, thinking, calls and usage."""
    response = RESPONSES.read_response(json.dumps(RESPONSE).encode())
    assert response.usage == Usage(input=100, output=20, cache_read=60, reasoning=8)
    assert (response.stop, response.text) == (StopReason.TOOL_USE, "OneTwoNo.")
    assert [call.arguments for call in response.calls] == [{"path": "a"}, {"input": "x"}]


def event(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields}, ensure_ascii=False)}\n\n"


def item(at: int, kind: str, **fields: Any) -> dict[str, Any]:
    return {"output_index": at, "item": {"type": kind, "status": "in_progress", **fields}}


def stream() -> str:
    begun = {**RESPONSE, "status": "in_progress", "output": [], "usage": None}
    call = {"call_id": "call_1", "id": "fc_1", "name": "read"}
    other = {"call_id": "call_2", "id": "fc_2", "name": "list"}
    patch = {"call_id": "call_3", "id": "ctc_1", "name": "apply_patch"}
    arguments = "response.function_call_arguments.delta"
    return "".join(
        [
            event("response.created", response=begun),
            event("response.in_progress", response=begun),
            event("response.output_item.added", **item(0, "reasoning", id="rs_1", summary=[])),
            event("response.reasoning_summary_text.delta", output_index=0, summary_index=0, delta="H"),
            event("response.reasoning_summary_text.delta", output_index=0, summary_index=0, delta="m."),
            event("response.reasoning_summary_text.delta", output_index=0, summary_index=1, delta="So."),
            event(
                "response.output_item.done",
                **item(0, "reasoning", id="rs_1", summary=[], encrypted_content="secret"),
            ),
            event("response.output_item.added", **item(1, "message", id="msg_1", role="assistant", content=[])),
            event(
                "response.content_part.added",
                output_index=1,
                content_index=0,
                part={"type": "output_text", "text": "", "annotations": []},
            ),
            event("response.output_text.delta", output_index=1, content_index=0, delta="Hé"),
            event("response.output_text.delta", output_index=1, content_index=0, delta="llo"),
            event("response.content_part.done", output_index=1, content_index=0, part={}),
            event("response.output_item.added", **item(2, "function_call", **call, arguments="")),
            event("response.output_item.added", **item(3, "function_call", **other, arguments="")),
            event(arguments, output_index=2, delta='{"x"'),
            event(arguments, output_index=3, delta="{"),
            event(arguments, output_index=2, delta=":1}"),
            event(arguments, output_index=3, delta="}"),
            event("response.output_item.done", **item(3, "function_call", **other, arguments="{}")),
            event("response.output_item.done", **item(2, "function_call", **call, arguments='{"x":1}')),
            event("response.output_item.added", **item(4, "custom_tool_call", **patch, input="")),
            event("response.custom_tool_call_input.delta", output_index=4, delta='a "b"\n'),
            event("response.custom_tool_call_input.delta", output_index=4, delta="é"),
            event("response.output_item.done", **item(4, "custom_tool_call", **patch, input='a "b"\né')),
            event("response.completed", response=RESPONSE),
        ]
    )


STREAM = stream().encode()


def read_stream(*chunks: bytes) -> list[Delta]:
    reader = RESPONSES.stream_reader()
    return [delta for chunk in chunks for delta in reader.feed(chunk)] + list(reader.close())


def test_stream_is_the_same_for_any_chunk_size() -> None:
    """Every byte boundary gives the same response, with interleaved calls separated."""
    complete = assemble(read_stream(STREAM))
    assert [(call.id, call.arguments) for call in complete.calls] == [
        ("call_1", {"x": 1}),
        ("call_2", {}),
        ("call_3", {"input": 'a "b"\né'}),
    ]
    assert (complete.text, complete.stop, complete.usage.output) == ("Héllo", StopReason.TOOL_USE, 20)
    thought = complete.parts[0]
    assert isinstance(thought, Thinking)
    assert (thought.id, thought.summary, thought.encrypted) == ("rs_1", ("Hm.", "So."), "secret")
    for size in SIZES:
        assert assemble(in_pieces(RESPONSES, STREAM, size)) == complete


def test_stream_written_is_read_back() -> None:
    """A response written as a stream is read back unchanged; events are numbered, and the last one has everything."""
    complete = assemble(read_stream(STREAM))
    writer = RESPONSES.stream_writer(ask(stream=True))
    body = b"".join([writer.write(delta) for delta in deltas_of(complete)]) + writer.close()
    again = assemble(read_stream(body))
    assert [part.kind for part in again.parts] == [part.kind for part in complete.parts]
    assert (again.text, again.calls, again.stop, again.usage) == (
        complete.text,
        complete.calls,
        complete.stop,
        complete.usage,
    )
    written = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith("data: ")]
    assert [each["sequence_number"] for each in written] == list(range(len(written)))
    last = RESPONSES.read_response(json.dumps(written[-1]["response"]).encode())
    assert (last.text, last.calls, last.usage) == (complete.text, complete.calls, complete.usage)


def test_stream_with_only_the_end_event() -> None:
    """A server that sends only the completed response is supported too."""
    complete = assemble(read_stream(event("response.completed", response=RESPONSE).encode()))
    assert complete.parts == RESPONSES.read_response(json.dumps(RESPONSE).encode()).parts


def test_a_custom_tool_is_called_with_plain_text() -> None:
    """A call of a tool that takes plain text has plain text, whichever provider answers."""
    request = ask(tools=[{"type": "custom", "name": "apply_patch"}])
    call = ToolCall(id="toolu_1", name="apply_patch", arguments={"input": "*** Begin"}, raw='{"input":"*** Begin"}')
    body = json.loads(RESPONSES.write_response(Response(parts=(call,)), request).body)
    assert body["output"][0]["type"] == "custom_tool_call"
    assert body["output"][0]["input"] == "*** Begin"
    writer = RESPONSES.stream_writer(request)
    written = b"".join([writer.write(delta) for delta in deltas_of(Response(parts=(call,)))]) + writer.close()
    assert assemble(read_stream(written)).calls[0].arguments == {"input": "*** Begin"}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (STREAM[:2500], "cut"),
        (b"", "cut"),
        (b"data: {\n\n", "server"),
        (event("response.output_text.delta", output_index=0, content_index=0, delta="x").encode(), "server"),
        (event("error", code="rate_limit_exceeded", message="slow down").encode(), "rate_limit"),
        (
            event("response.failed", response={"error": {"code": "server_error", "message": "sorry"}}).encode(),
            "server",
        ),
    ],
)
def test_broken_stream(body: bytes, reason: str) -> None:
    """A stream that breaks off or is malformed yields an error and raises nothing."""
    last = read_stream(body)[-1]
    assert isinstance(last, Interrupted)
    assert last.error.reason == reason


def test_malformed_request() -> None:
    """Malformed bytes are refused with the path to the problem."""
    with pytest.raises(Malformed, match=r"input\[0\]\.summary: expected a list, found str"):
        ask(input=[{"type": "reasoning", "summary": "x"}])


def test_text_alone() -> None:
    """The smallest request and the smallest response."""
    assert ask(input="Hello").messages[0].parts == (Text(text="Hello"),)
    body = json.loads(RESPONSES.write_response(Response(parts=(Text(text="Hi"),), stop=StopReason.END), ask()).body)
    assert body["output"][0]["content"][0]["text"] == "Hi"
    assert body["status"] == "completed"


NAMESPACE: dict[str, Any] = {
    "type": "namespace",
    "name": "multi_agent_v1",
    "description": "Tools for sub-agents.",
    "tools": [
        {"type": "function", "name": "spawn_agent", "strict": False, "parameters": {"type": "object"}},
        {"type": "custom", "name": "note", "description": "Notes", "format": {"type": "text"}},
    ],
}
SPAWN = {"type": "function_call", "call_id": "c1", "name": "spawn_agent", "namespace": "multi_agent_v1"}
NAMESPACED: dict[str, Any] = {
    "model": "m",
    "tools": [{"type": "web_search"}, NAMESPACE, {**NAMESPACE, "name": "mcp__files__"}],
    "tool_choice": {"type": "function", "name": "spawn_agent", "namespace": "multi_agent_v1"},
    "input": [{**SPAWN, "arguments": "{}"}, {"type": "function_call_output", "call_id": "c1", "output": "started"}],
}


def test_the_tools_of_a_namespace_are_tools_of_their_own() -> None:
    """Their names contain that of the namespace, and a request is written back field for field."""
    request = read(NAMESPACED)
    assert [(tool.name, tool.builtin) for tool in request.tools] == [
        ("web_search", True),
        ("multi_agent_v1__spawn_agent", False),
        ("multi_agent_v1__note", False),
        ("mcp__files__spawn_agent", False),
        ("mcp__files__note", False),
    ]
    assert request.tool_choice == "multi_agent_v1__spawn_agent"
    assert [part.name for part in request.messages[0].parts if isinstance(part, ToolCall)] == [request.tool_choice]
    assert json.loads(RESPONSES.write_request(request).body) == NAMESPACED


@pytest.mark.parametrize("tools", [[], None])
def test_a_namespace_without_tools_is_kept(tools: object) -> None:
    """As a tool that only the provider understands."""
    request = {"model": "m", "input": "x", "tools": [{"type": "namespace", "name": "empty", "tools": tools}]}
    assert json.loads(RESPONSES.write_request(read(request)).body) == request


def test_a_long_name_is_shortened_for_other_providers() -> None:
    """They accept at most 64 characters; the names stay different."""
    name = "x" * 60
    tools = [{**NAMESPACE, "tools": [{"type": "function", "name": f"{name}{end}"} for end in "ab"]}]
    request = read({"model": "m", "input": "x", "tools": tools})
    assert [len(tool.name) for tool in request.tools] == [64, 64]
    assert len({tool.name for tool in request.tools}) == 2
    answer = Response(parts=(ToolCall(id="c1", name=request.tools[1].name, arguments={}, raw="{}"),))
    (item,) = json.loads(RESPONSES.write_response(answer, request).body)["output"]
    assert (item["name"], item["namespace"]) == (f"{name}b", "multi_agent_v1")


@pytest.mark.parametrize("streamed", [True, False])
def test_another_models_call_gets_the_namespace_of_its_tool(streamed: bool) -> None:
    """So that a script, or a provider without namespaces, can call it."""
    calls = (
        ToolCall(
            id="c1", name="multi_agent_v1__spawn_agent", arguments={"message": "Look."}, raw='{"message":"Look."}'
        ),
        ToolCall(id="c2", name="mcp__files__note", arguments={"input": "hi"}, raw='{"input":"hi"}'),
    )
    response = Response(parts=calls, stop=StopReason.TOOL_USE, id="r", model="m")
    if streamed:
        writer = RESPONSES.stream_writer(read(NAMESPACED))
        body = b"".join([writer.write(delta) for delta in deltas_of(response)]) + writer.close()
        *_, last = body.decode().strip().split("data: ")
        items = json.loads(last)["response"]["output"]
    else:
        items = json.loads(RESPONSES.write_response(response, read(NAMESPACED)).body)["output"]
    assert [(one["type"], one["namespace"], one["name"]) for one in items] == [
        ("function_call", "multi_agent_v1", "spawn_agent"),
        ("custom_tool_call", "mcp__files__", "note"),
    ]
    again = RESPONSES.read_response(json.dumps({"status": "completed", "output": items}).encode())
    assert [(call.name, call.arguments) for call in again.calls] == [(call.name, call.arguments) for call in calls]
