"""Anthropic Messages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from holdfast.core.exchange import ProviderError, Request, Response
from holdfast.gateway.dialects.anthropic.blocks import NAME
from holdfast.gateway.dialects.anthropic.reader import AnthropicReader
from holdfast.gateway.dialects.anthropic.refusal import write_error
from holdfast.gateway.dialects.anthropic.request import read_request, write_request
from holdfast.gateway.dialects.anthropic.response import read_response, write_response
from holdfast.gateway.dialects.anthropic.writer import AnthropicWriter
from holdfast.gateway.dialects.dialect import Route, StreamReader, StreamWriter, Wire
from holdfast.gateway.dialects.paths import bearer, common_route
from holdfast.gateway.dialects.refusal import read_refusal
from holdfast.gateway.dialects.wire import dump

VERSION = "2023-06-01"
"""The version of the API, which every request must name."""

_MESSAGES = re.compile(r"(?:/v1)?/messages(/count_tokens)?")


class Anthropic:
    """Anthropic Messages. A provider's base URL has no version, as in `https://api.anthropic.com`."""

    name = NAME

    def route(self, method: str, path: str, query: Mapping[str, str]) -> Route | None:
        """What this path asks for."""
        found = _MESSAGES.fullmatch(path.rstrip("/"))
        if method == "POST" and found:
            return Route(wish="count_tokens" if found[1] else "generate")
        return common_route(method, path)

    def token(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """The key that a client presents."""
        return headers.get("x-api-key") or bearer(headers)

    def key_headers(self, key: str) -> Mapping[str, str]:
        """The headers that present a key."""
        return {"x-api-key": key, "anthropic-version": VERSION}

    def read_request(self, body: bytes, route: Route) -> Request:
        """What a client asks."""
        return read_request(body, route)

    def write_request(self, request: Request) -> Wire:
        """The same, as the provider wants to read it."""
        return write_request(request)

    def read_response(self, body: bytes) -> Response:
        """What a provider answers when it does not stream."""
        return read_response(body)

    def write_response(self, response: Response, request: Request) -> Wire:
        """The same, as the client wants to read it."""
        return write_response(response, request)

    def stream_reader(self) -> StreamReader:
        """A reader for one streamed answer."""
        return AnthropicReader()

    def stream_writer(self, request: Request) -> StreamWriter:
        """A writer for one streamed answer."""
        return AnthropicWriter(request)

    def read_error(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        """What a provider's refusal means."""
        return read_refusal(status, body)

    def write_error(self, error: ProviderError) -> Wire:
        """A refusal, as the clients understand it."""
        return write_error(error)

    def write_count(self, tokens: int) -> Wire:
        """The answer to a count of tokens."""
        return Wire(body=dump({"input_tokens": tokens}))

    def write_models(self, models: Iterable[str]) -> Wire:
        """The list of models."""
        listed = [
            {"type": "model", "id": name, "display_name": name, "created_at": "1970-01-01T00:00:00Z"} for name in models
        ]
        first, last = (listed[0]["id"], listed[-1]["id"]) if listed else (None, None)
        return Wire(body=dump({"data": listed, "has_more": False, "first_id": first, "last_id": last}))
