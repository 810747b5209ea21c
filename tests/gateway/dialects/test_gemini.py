"""The Gemini dialect: lossless round trips, and exact streams in both framings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from demeanor.core.values.exchange import ProviderError, Request, StopReason, Usage
from demeanor.core.values.messages import Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Malformed, Route
from demeanor.gateway.dialects.errors import read_error
from demeanor.gateway.dialects.gemini import json_array_stream
from demeanor.gateway.dialects.stream_events import Delta, Interrupted, assemble, deltas_of
from tests.gateway.dialects.helpers import SIZES, in_pieces

GEMINI = DIALECTS["gemini"]
GENERATE = Route(operation="generate", model="gemini-2.5-pro", stream=False)
CALL: dict[str, Any] = {"functionCall": {"name": "read", "args": {"path": "a"}}}

REQUEST: dict[str, Any] = {
    "systemInstruction": {"role": "user", "parts": [{"text": "Be brief."}, {"text": "Be kind."}]},
    "generationConfig": {
        "temperature": 0,
        "topP": 0.9,
        "maxOutputTokens": 100,
        "stopSequences": ["END"],
        "candidateCount": 1,
        "thinkingConfig": {"thinkingBudget": -1, "includeThoughts": True},
    },
    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read"]}},
    "safetySettings": [],
    "tools": [
        {
            "functionDeclarations": [
                {"name": "read", "description": "Reads", "parametersJsonSchema": {"type": "object"}},
                {
                    "name": "old",
                    "parameters": {"type": "OBJECT", "properties": {"type": {"type": "STRING", "nullable": True}}},
                },
                {"name": "bare", "response": {"type": "STRING"}},
            ]
        },
        {"googleSearch": {}},
        {"functionDeclarations": [{"name": "more"}], "codeExecution": {}},
    ],
    "contents": [
        {"role": "user", "parts": [{"text": "Look"}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]},
        {"parts": [{"fileData": {"mimeType": "application/pdf", "fileUri": "gs://a/b.pdf"}}, {"text": ""}]},
        {
            "role": "model",
            "parts": [
                {"text": "Hm.", "thought": True},
                {"text": "Reading", "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "Y2FsbA=="},
                {"functionCall": {"id": "x1", "name": "read", "args": {"path": "b"}}},
                {"functionCall": {"name": "bare"}},
                {"executableCode": {"language": "PYTHON", "code": "1"}},
            ],
        },
        {
            "role": "function",
            "parts": [
                {"functionResponse": {"name": "read", "response": {"output": "one"}}},
                {"functionResponse": {"id": "x1", "name": "read", "response": {"result": "two"}}},
                {
                    "functionResponse": {
                        "name": "bare",
                        "response": {"a": 1, "b": [2]},
                        "parts": [{"inlineData": {"mimeType": "image/png", "data": "BBBB"}}],
                    }
                },
                {"functionResponse": {"name": "read", "response": {"error": "no such file"}}},
            ],
        },
        {"role": "model", "parts": []},
    ],
}

RESPONSE: dict[str, Any] = {
    "candidates": [
        {
            "content": {
                "role": "model",
                "parts": [
                    {"text": "Hm.", "thought": True},
                    {"functionCall": {"name": "read", "args": {"path": "a"}}, "thoughtSignature": "c2ln"},
                    {"functionCall": {"name": "read", "args": {"path": "b"}}},
                ],
            },
            "finishReason": "STOP",
            "index": 0,
            "safetyRatings": [],
        }
    ],
    "usageMetadata": {
        "promptTokenCount": 100,
        "candidatesTokenCount": 20,
        "thoughtsTokenCount": 8,
        "cachedContentTokenCount": 60,
        "totalTokenCount": 128,
    },
    "modelVersion": "gemini-2.5-pro",
    "responseId": "r1",
}


def read(request: dict[str, Any], route: Route = GENERATE) -> Request:
    return GEMINI.read_request(json.dumps(request).encode(), route)


def ask(*contents: dict[str, Any], route: Route = GENERATE) -> Request:
    return read({"contents": list(contents)}, route)


def written(body: bytes) -> Any:
    return json.loads(body)


def test_request_round_trip() -> None:
    """A request of this dialect is written back field for field, to the path with the model."""
    wire = GEMINI.write_request(read(REQUEST))
    assert written(wire.body) == REQUEST
    assert wire.path == "/v1beta/models/gemini-2.5-pro:generateContent"


def test_names_with_underscores() -> None:
    """Google's own client mixes camel case and snake case: both are read, and written back unchanged."""
    blob = {"inlineData": {"mime_type": "image/png", "data": "AAAA"}}
    declaration = {"name": "read", "parameters_json_schema": {"type": "object"}}
    mixed = {
        "system_instruction": {"parts": [{"text": "Be brief."}]},
        "generation_config": {"max_output_tokens": 7, "thinking_config": {"thinking_budget": 9}},
        "contents": [{"role": "user", "parts": [blob, {"inline_data": {"mimeType": "image/png", "data": "BBBB"}}]}],
        "tools": [{"functionDeclarations": [declaration]}, {"function_declarations": [{"name": "list"}]}],
    }
    request = read(mixed)
    assert (request.system, request.sampling.max_tokens, request.reasoning.budget) == ("Be brief.", 7, 9)
    assert [part.kind for part in request.messages[1].parts] == ["image", "image"]
    assert request.tools[0].schema == {"type": "object"}
    assert written(GEMINI.write_request(request).body) == mixed


@pytest.mark.parametrize(
    "response", [RESPONSE, {"promptFeedback": {"blockReason": "SAFETY"}}, {"candidates": [{"finishReason": "OTHER"}]}]
)
def test_response_round_trip(response: dict[str, Any]) -> None:
    """A response of this dialect is written back field for field."""
    assert written(GEMINI.write_response(GEMINI.read_response(json.dumps(response).encode()), ask()).body) == response


def test_results_are_matched_to_calls_by_name_and_order() -> None:
    """Calls without ids get generated ones, and their results the same."""
    parts = [part for message in read(REQUEST).messages for part in message.parts]
    calls = [part for part in parts if isinstance(part, ToolCall)]
    results = [part for part in parts if isinstance(part, ToolResult)]
    assert [result.call_id for result in results[:3]] == [call.id for call in calls]
    assert len({call.id for call in calls}) == 3
    assert [(result.text, result.is_error) for result in results] == [
        ("one", None),
        ("two", None),
        ('{"a":1,"b":[2]}', None),
        ("no such file", True),
    ]


def test_settings_are_understood() -> None:
    """The canonical form has the prompt, the settings and the tools with standard JSON schemas."""
    request = read(REQUEST)
    assert request.system == "Be brief.Be kind."
    assert (request.tool_choice, request.sampling.max_tokens, request.reasoning.show) == ("read", 100, True)
    assert [(tool.name, tool.builtin) for tool in request.tools] == [
        ("read", False),
        ("old", False),
        ("bare", False),
        ("googleSearch", True),
        ("more", False),
        ("codeExecution", True),
    ]
    assert request.tools[1].schema == {
        "type": "object",
        "properties": {"type": {"type": "string", "nullable": True}},
    }


@pytest.mark.parametrize(
    ("config", "choice"),
    [
        ({"mode": "ANY", "allowedFunctionNames": ["read"]}, "read"),
        ({"mode": "AUTO", "allowedFunctionNames": ["read"]}, "auto"),
        ({"mode": "ANY", "allowedFunctionNames": ["read", "old"]}, "required"),
        ({"mode": "NONE", "allowedFunctionNames": ["read"]}, "none"),
    ],
)
def test_only_a_mode_that_demands_the_tool_chooses_it(config: dict[str, Any], choice: str) -> None:
    """The names also limit what the model may call by itself."""
    assert read({"contents": [], "toolConfig": {"functionCallingConfig": config}}).tool_choice == choice


def test_a_call_within_a_thought_is_a_call_and_an_empty_group_is_a_tool() -> None:
    """Google marks any part of its reasoning as a thought."""
    request = read({"contents": [{"role": "model", "parts": [CALL | {"thought": True}]}], "tools": [{}]})
    (called,) = request.messages[0].parts
    assert isinstance(called, ToolCall)
    assert [tool.name for tool in request.tools] == ["tool"]


@pytest.mark.parametrize(
    "word",
    [
        "MALFORMED_FUNCTION_CALL",
        "UNEXPECTED_TOOL_CALL",
        "MALFORMED_RESPONSE",
        "TOO_MANY_TOOL_CALLS",
        "MISSING_THOUGHT_SIGNATURE",
        "OTHER",
    ],
)
def test_an_answer_that_failed_has_no_normal_end(word: str) -> None:
    """Whatever it said before."""
    response = GEMINI.read_response(json.dumps({"candidates": [{"finishReason": word}]}).encode())
    assert response.stop is StopReason.ERROR


def test_thoughts_are_output() -> None:
    """Google excludes thoughts from the candidates' count; the canonical count includes them."""
    response = GEMINI.read_response(json.dumps(RESPONSE).encode())
    assert response.usage == Usage(input=100, output=28, cache_read=60, reasoning=8)
    assert response.stop is StopReason.TOOL_USE
    assert [call.signature for call in response.calls] == ["c2ln", None]
    assert len({call.id for call in response.calls}) == 2


def piece(*parts: dict[str, Any], **fields: Any) -> dict[str, Any]:
    candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **fields}
    return {"candidates": [candidate], "modelVersion": "gemini-2.5-pro", "responseId": "r1"}


PIECES = [
    piece({"text": "H", "thought": True}),
    piece({"text": "m.", "thought": True, "thoughtSignature": "dGg="}),
    piece({"text": 'Hé "{'}),
    piece({"text": "l\\lo"}),
    piece({"functionCall": {"name": "read", "args": {"path": "a}"}}, "thoughtSignature": "c2ln"}),
    piece({"functionCall": {"id": "x", "name": "list", "args": {}}}),
    {**piece({"text": ""}, finishReason="STOP"), "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}},
]
EVENTS = "".join(f"data: {json.dumps(each, ensure_ascii=False)}\r\n\r\n" for each in PIECES).encode()
ARRAY = json.dumps(PIECES, indent=1, ensure_ascii=False).encode()


def read_stream(*chunks: bytes) -> list[Delta]:
    reader = GEMINI.stream_reader()
    return [delta for chunk in chunks for delta in reader.feed(chunk)] + list(reader.close())


@pytest.mark.parametrize("body", [EVENTS, ARRAY], ids=["events", "array"])
def test_stream_is_the_same_for_any_chunk_size(body: bytes) -> None:
    """Every byte boundary gives the same response."""
    complete = assemble(read_stream(body))
    assert complete.text == 'Hé "{l\\lo'
    assert [(call.name, call.arguments, call.signature) for call in complete.calls] == [
        ("read", {"path": "a}"}, "c2ln"),
        ("list", {}, None),
    ]
    assert [part.signature for part in complete.parts if isinstance(part, Thinking)] == ["dGg="]
    assert (complete.stop, complete.usage.output) == (StopReason.TOOL_USE, 4)
    for size in SIZES:
        assert assemble(in_pieces(GEMINI, body, size)) == complete


@pytest.mark.parametrize("framing", ["sse", "array"])
def test_stream_written_is_read_back(framing: Any) -> None:
    """A response written as a stream is read back unchanged, in the requested framing."""
    complete = assemble(read_stream(EVENTS))
    route = Route(operation="generate", model="m", stream=True, framing=framing)
    writer = GEMINI.stream_writer(ask(route=route))
    body = b"".join([writer.write(delta) for delta in deltas_of(complete)]) + writer.close()
    again = assemble(read_stream(body))
    assert again.parts == complete.parts
    assert (again.stop, again.usage.output, again.id) == (complete.stop, 4, "r1")
    assert body.startswith(b"[" if framing == "array" else b"data: ")
    assert writer.content_type == ("application/json" if framing == "array" else "text/event-stream")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (EVENTS[:300], "cut"),
        (ARRAY[:300], "cut"),
        (b"", "cut"),
        (b"data: {\r\n\r\n", "server"),
        (b'[{"candidates": 3}]', "server"),
        (b'[{"error": {"code": 429, "message": "slow down"}}]', "rate_limit"),
    ],
)
def test_broken_stream(body: bytes, reason: str) -> None:
    """A stream that breaks off or is malformed yields an error and raises nothing."""
    last = read_stream(body)[-1]
    assert isinstance(last, Interrupted)
    assert last.error.reason == reason


def test_malformed_request() -> None:
    """Malformed bytes are refused with the path to the problem."""
    with pytest.raises(Malformed, match=r"contents\[0\]\.parts\[0\]\.functionCall: expected an object, found int"):
        ask({"role": "model", "parts": [{"functionCall": 3}]})


def test_foreign_signature_survives_a_gemini_client() -> None:
    """Another provider's signature comes back unchanged, although clients re-encode base64."""
    response = assemble(read_stream(EVENTS))
    foreign = Thinking(text="Hm.", signature="not base64 +/=")
    body = GEMINI.write_response(type(response)(parts=(foreign, Text(text="x"))), ask()).body
    parts = written(body)["candidates"][0]["content"]["parts"]
    parts[0]["thoughtSignature"] = parts[0]["thoughtSignature"].replace("+", "-").replace("/", "_").rstrip("=")
    again = ask({"role": "model", "parts": parts}).messages[0].parts[0]
    assert isinstance(again, Thinking)
    assert (again.text, again.signature) == ("Hm.", "not base64 +/=")


def test_errors() -> None:
    """Errors have the statuses of Google's API."""
    wire = GEMINI.write_error(ProviderError(status=None, reason="rate_limit", message="slow down"))
    assert written(wire.body) == {"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}
    assert read_error(429, b"[" + wire.body + b"]").message == "slow down"


@pytest.mark.parametrize(
    ("path", "alt", "expected"),
    [
        ("/v1beta/models/gemini-2.5-pro:generateContent", None, ("generate", False, "sse")),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent", "sse", ("generate", True, "sse")),
        ("/v1beta/models/gemini-2.5-pro:streamGenerateContent", None, ("generate", True, "array")),
        ("/models/gemini-2.5-pro:countTokens", None, ("count_tokens", False, "sse")),
    ],
)
def test_routes(path: str, alt: str | None, expected: tuple[str, bool, str]) -> None:
    """The path contains the model, the operation and the framing."""
    route = GEMINI.route("POST", path, {"alt": alt} if alt else {})
    assert route is not None
    assert (route.operation, route.stream, route.framing) == expected
    assert route.model == "gemini-2.5-pro"


def test_an_endless_item_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that is a JSON array can't use all memory either."""
    monkeypatch.setattr(json_array_stream, "MAX_EVENT_BYTES", 100)
    reader = GEMINI.stream_reader()
    assert reader.feed(b'[{"a": "' + b"0" * 90) == []
    (failed,) = reader.feed(b"0" * 10)
    assert isinstance(failed, Interrupted)
    assert "longer than 100 bytes" in failed.error.message
