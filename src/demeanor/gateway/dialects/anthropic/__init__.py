"""The Anthropic Messages API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from demeanor.gateway.dialects.anthropic.blocks import NAME
from demeanor.gateway.dialects.anthropic.reader import AnthropicReader
from demeanor.gateway.dialects.anthropic.request import read_request, write_request
from demeanor.gateway.dialects.anthropic.response import read_response, write_error, write_response
from demeanor.gateway.dialects.anthropic.writer import AnthropicWriter
from demeanor.gateway.dialects.dialect import Dialect, Route, WireFormat, bearer, post_route
from demeanor.gateway.dialects.json_reader import to_json

VERSION = "2023-06-01"
"""The API version, which every request must contain."""

_MESSAGES = re.compile(r"(?:/v1)?/messages(/count_tokens)?")


def route(method: str, path: str, query: Mapping[str, str]) -> Route | None:
    """The route for a path."""
    return post_route(_MESSAGES, method, path)


def token(headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
    """The key that a client sends."""
    return headers.get("x-api-key") or bearer(headers)


def key_headers(key: str) -> Mapping[str, str]:
    """The headers that send a key."""
    return {"x-api-key": key, "anthropic-version": VERSION}


def write_count(tokens: int) -> WireFormat:
    """The response to a token count request."""
    return WireFormat(body=to_json({"input_tokens": tokens}))


def write_models(models: Iterable[str]) -> WireFormat:
    """The list of models."""
    listed = [
        {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"} for name in models
    ]
    first, last = (listed[0]["id"], listed[-1]["id"]) if listed else (None, None)
    return WireFormat(body=to_json({"data": listed, "has_more": False, "first_id": first, "last_id": last}))


DIALECT = Dialect(
    name=NAME,
    route=route,
    token=token,
    key_headers=key_headers,
    read_request=read_request,
    write_request=write_request,
    read_response=read_response,
    write_response=write_response,
    stream_reader=AnthropicReader,
    stream_writer=AnthropicWriter,
    write_error=write_error,
    write_count=write_count,
    write_models=write_models,
    names_events=True,
)
"""Anthropic Messages. A provider's base URL has no version, as in `https://api.anthropic.com`."""
