"""How messages with every field are read, and how they are written in each dialect: a change of either is a diff."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.text.codec import encode
from demeanor.core.values.exchange import ProviderError, Request, Response, StopReason
from demeanor.core.values.messages import Text, ToolResult
from demeanor.gateway import contract
from demeanor.gateway.contract.view import events_of
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Dialect, Malformed, Route
from demeanor.gateway.dialects.errors import STATUS
from demeanor.gateway.dialects.stream_events import Assembler, assemble, deltas_of
from tests.gateway.dialects import test_anthropic, test_gemini, test_openai_chat, test_openai_responses
from tests.gateway.dialects.helpers import in_pieces

FILES = Path(__file__).parent / "golden"
MODULES: dict[str, Any] = {
    "openai-chat": test_openai_chat,
    "openai-responses": test_openai_responses,
    "anthropic": test_anthropic,
    "gemini": test_gemini,
}
ROUTE = Route(operation="generate", model="some-model")

PATHS = (
    *("", "/v1", "/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions/", "/v1/responses", "/responses"),
    *("/v1/responses/input_tokens", "/v1/models", "/v1beta/models/m", "/v1/models/a/b", "/v1/models/a/b/c", "/health"),
    *(f"/v1beta/models/m:{what}" for what in ("generateContent", "streamGenerateContent", "countTokens", "embed")),
)


def lines(**sections: Any) -> str:
    """JSON with one line for each entry of a section, or of a list in it."""
    out = []
    for title, section in sections.items():
        out.append(f"## {title}")
        for name, value in section.items():
            if isinstance(value, list):
                out += [f"{name}:", *(f"  {json.dumps(item, ensure_ascii=False)}" for item in value)]
            else:
                out.append(f"{name}: {json.dumps(value, ensure_ascii=False)}")
    return "\n".join(out) + "\n"


def in_each_dialect(request: Request, response: Response) -> dict[str, dict[str, Any]]:
    """The request, and the response to it, whole and streamed, as each dialect writes them."""
    found: dict[str, dict[str, Any]] = {}
    for name, dialect in DIALECTS.items():
        writer = dialect.stream_writer(request)
        stream = b"".join(map(writer.write, deltas_of(response))) + writer.close()
        wire = dialect.write_request(request)
        found[f"request in {name} ({wire.path})"] = json.loads(wire.body)
        found[f"response in {name}"] = json.loads(dialect.write_response(response, request).body)
        found[f"stream in {name}"] = {"events": [event["data"] for event in events_of(stream)]}
    return found


def streams_as_read(source: str) -> dict[str, Any]:
    """The response of each stream in the contract cases, or what it got to and its error."""
    found = {}
    for case in contract.cases():
        name, pair = case.name.split(": ")
        if case.kind == "stream" and pair.startswith(f"{source} ") and name not in found:
            assembler = Assembler()
            for delta in in_pieces(DIALECTS[source], case.body, 1000):
                assembler.take(delta)
            found[name] = [encode(assembler.response()), *([encode(assembler.error)] if assembler.error else [])]
    return found


def around_messages(dialect: Dialect) -> dict[str, Any]:
    """Stop reasons, errors, lists and counts, keys and routes."""
    errors = [dialect.write_error(ProviderError(status=None, reason=reason, message="no")) for reason in STATUS]
    headers = ({"authorization": "Bearer k"}, {"x-api-key": "k"}, {"x-goog-api-key": "k"}, {"authorization": "Basic k"})
    asked, said = Request(model="m", messages=()), (Text(text="x"),)
    stops = [dialect.write_response(Response(parts=said, stop=stop), asked) for stop in StopReason]
    return {
        "stops": [json.loads(wire.body) for wire in stops],
        "errors": [[wire.status, json.loads(wire.body)] for wire in errors],
        "models": [json.loads(dialect.write_models(models).body) for models in (["a", "b"], [])],
        "count": json.loads(dialect.write_count(3).body),
        "key": dict(dialect.key_headers("k")),
        "tokens": [*(dialect.token(each, {}) for each in headers), dialect.token({}, {"key": "k"})],
        "routes": [
            f"{method} {path}{query or ''}: {encode(route) if route is not None else None}"
            for path in PATHS
            for method, query in (("POST", {}), ("POST", {"alt": "sse"}), ("GET", {}), ("HEAD", {}))
            for route in [dialect.route(method, path, query)]
        ],
    }


@pytest.mark.parametrize("name", DIALECTS)
def test_every_field_is_read_and_written_as_before(name: str, golden: Callable[[Path, str], None]) -> None:
    """Requests, responses and streams with all that the dialect has."""
    module, dialect = MODULES[name], DIALECTS[name]
    request = dialect.read_request(json.dumps(module.REQUEST).encode(), ROUTE)
    response = dialect.read_response(json.dumps(module.RESPONSE).encode())
    streamed = assemble(in_pieces(dialect, module.EVENTS if name == "gemini" else module.STREAM, 100))
    text = lines(
        **{
            "request as read": encode(request),
            "response as read": encode(response),
            "stream as read": encode(streamed),
            "streams of the contract as read": streams_as_read(name),
            **in_each_dialect(request, response),
            "around": around_messages(dialect),
        }
    )
    golden(FILES / f"{name}.txt", text)


@pytest.mark.parametrize(
    ("name", "kind", "body", "problem"),
    [
        ("gemini", "response", {}, r"candidates: expected at least one"),
        ("gemini", "response", {"candidates": [1]}, r"candidates\[0\]: expected an object, found int"),
        ("openai-responses", "request", {"model": "m", "input": 3}, r"input: expected a string or a list, found int"),
        ("openai-chat", "request", {"messages": [{"role": "user", "content": 1}]}, r"messages\[0\]"),
        (
            "openai-chat",
            "request",
            {"messages": [{"role": "assistant", "reasoning_details": [{"type": 3}]}]},
            r"messages\[0\]\.reasoning_details\[0\]\.type: expected a string, found int",
        ),
        (
            "anthropic",
            "request",
            {"messages": [{"content": "x"}]},
            r"messages\[0\]\.role: expected a string, found null",
        ),
    ],
)
def test_a_malformed_message_is_refused_with_its_place(name: str, kind: str, body: object, problem: str) -> None:
    """And what was expected there."""
    text = json.dumps(body).encode()
    with pytest.raises(Malformed, match=problem):
        DIALECTS[name].read_request(text, ROUTE) if kind == "request" else DIALECTS[name].read_response(text)


def test_a_result_without_its_call_is_read() -> None:
    """Its id is empty, and no other one."""
    body = {"messages": [{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]}
    (message,) = DIALECTS["anthropic"].read_request(json.dumps(body).encode(), ROUTE).messages
    (result,) = message.parts
    assert isinstance(result, ToolResult)
    assert result.call_id == ""
