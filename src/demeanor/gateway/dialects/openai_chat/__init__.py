"""The OpenAI Chat Completions API, which most other providers implement too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from demeanor.gateway.dialects.dialect import Dialect, Route, WireFormat, bearer, post_route
from demeanor.gateway.dialects.json_reader import to_json
from demeanor.gateway.dialects.openai_chat.reader import ChatReader
from demeanor.gateway.dialects.openai_chat.request import read_request, write_request
from demeanor.gateway.dialects.openai_chat.response import read_response, write_error, write_response
from demeanor.gateway.dialects.openai_chat.thinking import NAME
from demeanor.gateway.dialects.openai_chat.writer import ChatWriter

_GENERATE = re.compile(r"(?:/v\d+\w*)?/chat/completions")


def route(method: str, path: str, query: Mapping[str, str]) -> Route | None:
    """The route for a path."""
    return post_route(_GENERATE, method, path)


def token(headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
    """The key that a client sends."""
    return bearer(headers) or headers.get("api-key")


def key_headers(key: str) -> Mapping[str, str]:
    """The headers that send a key."""
    return {"Authorization": f"Bearer {key}"}


def write_count(tokens: int) -> WireFormat:
    """The response to a token count request, which this API itself does not offer."""
    return WireFormat(body=to_json({"object": "response.input_tokens", "input_tokens": tokens}))


def write_models(models: Iterable[str]) -> WireFormat:
    """The list of models."""
    listed = [{"id": name, "object": "model", "created": 0, "owned_by": "demeanor"} for name in models]
    return WireFormat(body=to_json({"object": "list", "data": listed}))


DIALECT = Dialect(
    name=NAME,
    route=route,
    token=token,
    key_headers=key_headers,
    read_request=read_request,
    write_request=write_request,
    read_response=read_response,
    write_response=write_response,
    stream_reader=ChatReader,
    stream_writer=ChatWriter,
    write_error=write_error,
    write_count=write_count,
    write_models=write_models,
)
"""OpenAI Chat Completions. A provider's base URL ends with its version, as in `https://api.openai.com/v1`."""
