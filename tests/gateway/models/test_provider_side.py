"""A request must not use the provider's network: tools that run there, and addresses that it fetches."""

from __future__ import annotations

import json
from typing import Any

import pytest

from demeanor.gateway.models.live_model import provider_side

HERE = "https://example.org/a.png"


@pytest.mark.parametrize(
    "body",
    [
        {"mcp_servers": [{"type": "url", "url": "https://x"}]},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"type": "function", "name": "a"}, {"type": "web_fetch_20250910"}]},
        {"tools": [{"type": "mcp", "server_url": "https://x"}]},
        {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
        {"web_search_options": {"x": 1}},
        {"plugins": [{"id": "web"}]},
        {"tools": [{"googleSearch": {}}]},
        {"tools": [{"functionDeclarations": []}, {"url_context": {}}]},
        {"tools": [{"type": "browser_search"}]},
        {"tools": [{"type": "WEB_SEARCH"}]},
        {"tools": [{"type": "builtin_function", "function": {"name": "$web_search"}}]},
        {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]},
        {"tools": [{"retrieval": {"externalApi": {}}}]},
        {"enable_search": True},
        {"messages": [{"content": [{"type": "document_url", "document_url": HERE}]}]},
        {"messages": [{"content": [{"type": "file", "file": {"file_data": f" {HERE}"}}]}]},
        {"messages": [{"content": [{"type": "image", "source": {"type": "url", "url": HERE}}]}]},
        {"messages": [{"content": [{"type": "image_url", "image_url": {"url": HERE}}]}]},
        {"input": [{"content": [{"type": "input_image", "image_url": HERE}]}]},
        {"input": [{"content": [{"type": "input_file", "file_url": HERE}]}]},
        {"contents": [{"parts": [{"fileData": {"fileUri": "gs://bucket/a"}}]}]},
    ],
)
def test_exits_of_every_dialect_are_found(body: dict[str, Any]) -> None:
    assert provider_side(json.dumps(body).encode())


@pytest.mark.parametrize(
    "body",
    [
        {"tools": [{"name": "fetch", "input_schema": {"properties": {"url": {"default": HERE}}}}]},
        {"tools": [{"type": "bash_20250124"}, {"type": "custom", "name": "web_search"}, {"type": "function"}]},
        {"messages": [{"content": [{"type": "tool_use", "name": "fetch", "input": {"url": HERE}}]}]},
        {"tools": [{"type": "tool_search_tool_regex_20251119"}, {"type": "file_search"}, {"type": "local_shell"}]},
        {"tools": [{"name": "web_search", "input_schema": {}}, {"functionDeclarations": [{"name": "search"}]}]},
        {"tools": [{"name": "search", "urls": 1}], "disable_search": True, "n": 1},
        {"messages": [{"content": f"read {HERE}"}]},
        {"messages": [{"content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}]},
        {"input": [{"type": "function_call", "arguments": json.dumps({"url": HERE})}]},
        {"contents": [{"parts": [{"functionCall": {"args": {"url": HERE}}}]}]},
        {"input": [{"content": [{"type": "output_text", "annotations": [{"url": HERE}]}]}]},
    ],
)
def test_tools_of_agents_are_none(body: dict[str, Any]) -> None:
    """They run in the sandbox, and what they are called with is text."""
    assert provider_side(json.dumps(body).encode()) is None


def test_a_field_that_stands_twice_is_one() -> None:
    """A provider may take the first, and the gateway takes the last."""
    assert provider_side(b'{"mcp_servers": [1], "mcp_servers": null}')
    assert provider_side(b'{"messages": [{"content": "a", "content": "b"}]}') == (
        "'content', which stands twice in an object,"
    )


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b"[" * 10**6])
def test_what_is_no_request_has_no_exit(body: bytes) -> None:
    assert provider_side(body) is None
