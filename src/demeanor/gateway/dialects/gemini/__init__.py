"""The Gemini API: generateContent and streamGenerateContent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from demeanor.gateway.dialects.dialect import Dialect, Route, WireFormat, bearer, common_route
from demeanor.gateway.dialects.gemini.parts import NAME
from demeanor.gateway.dialects.gemini.reader import GeminiReader
from demeanor.gateway.dialects.gemini.request import read_request, write_request
from demeanor.gateway.dialects.gemini.response import read_response, write_error, write_response
from demeanor.gateway.dialects.gemini.writer import GeminiWriter
from demeanor.gateway.dialects.json_reader import to_json

_PATH = re.compile(
    r"(?:/v\d\w*)?(?:/projects/[^/]+/locations/[^/]+)?(?:/publishers/[^/]+)?"
    r"/(?:models|tunedModels)/(?P<model>[^:]+):(?P<verb>generateContent|streamGenerateContent|countTokens)"
)


def route(method: str, path: str, query: Mapping[str, str]) -> Route | None:
    """The route for a path."""
    match = _PATH.fullmatch(path.rstrip("/"))
    if method != "POST" or not match:
        return common_route(method, path)
    stream = match["verb"] == "streamGenerateContent"
    return Route(
        operation="count_tokens" if match["verb"] == "countTokens" else "generate",
        stream=stream,
        model=match["model"],
        framing="array" if stream and query.get("alt") != "sse" else "sse",
    )


def token(headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
    """The key that a client sends."""
    return headers.get("x-goog-api-key") or query.get("key") or bearer(headers)


def key_headers(key: str) -> Mapping[str, str]:
    """The headers that send a key."""
    return {"x-goog-api-key": key}


def write_count(tokens: int) -> WireFormat:
    """The response to a token count request."""
    return WireFormat(body=to_json({"totalTokens": tokens}))


def write_models(models: Iterable[str]) -> WireFormat:
    """The list of models."""
    methods = ["generateContent", "countTokens"]
    listed = [{"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods} for name in models]
    return WireFormat(body=to_json({"models": listed}))


DIALECT = Dialect(
    name=NAME,
    route=route,
    token=token,
    key_headers=key_headers,
    read_request=read_request,
    write_request=write_request,
    read_response=read_response,
    write_response=write_response,
    stream_reader=GeminiReader,
    stream_writer=GeminiWriter,
    write_error=write_error,
    write_count=write_count,
    write_models=write_models,
    model_in_path=True,
    stored_state=("cachedContent",),
)
"""Gemini. A provider's base URL has no version, as in `https://generativelanguage.googleapis.com`."""
