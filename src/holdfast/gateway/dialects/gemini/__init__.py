"""Gemini generateContent and streamGenerateContent."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from holdfast.core.exchange import ProviderError, Request, Response
from holdfast.gateway.dialects.dialect import Route, StreamReader, StreamWriter, Wire
from holdfast.gateway.dialects.gemini.parts import NAME
from holdfast.gateway.dialects.gemini.reader import GeminiReader
from holdfast.gateway.dialects.gemini.refusal import write_error
from holdfast.gateway.dialects.gemini.request import read_request, write_request
from holdfast.gateway.dialects.gemini.response import read_response, write_response
from holdfast.gateway.dialects.gemini.writer import GeminiWriter
from holdfast.gateway.dialects.paths import bearer, common_route
from holdfast.gateway.dialects.refusal import read_refusal
from holdfast.gateway.dialects.wire import dump

_PATH = re.compile(
    r"(?:/v\d\w*)?(?:/projects/[^/]+/locations/[^/]+)?(?:/publishers/[^/]+)?"
    r"/(?:models|tunedModels)/(?P<model>[^:]+):(?P<verb>generateContent|streamGenerateContent|countTokens)"
)


class Gemini:
    """Gemini. A provider's base URL has no version, as in `https://generativelanguage.googleapis.com`."""

    name = NAME

    def route(self, method: str, path: str, query: Mapping[str, str]) -> Route | None:
        """What this path asks for."""
        found = _PATH.fullmatch(path.rstrip("/"))
        if method != "POST" or not found:
            return common_route(method, path)
        stream = found["verb"] == "streamGenerateContent"
        return Route(
            wish="count_tokens" if found["verb"] == "countTokens" else "generate",
            stream=stream,
            model=found["model"],
            framing="array" if stream and query.get("alt") != "sse" else "sse",
        )

    def token(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """The key that a client presents."""
        return headers.get("x-goog-api-key") or query.get("key") or bearer(headers)

    def key_headers(self, key: str) -> Mapping[str, str]:
        """The headers that present a key."""
        return {"x-goog-api-key": key}

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
        return GeminiReader()

    def stream_writer(self, request: Request) -> StreamWriter:
        """A writer for one streamed answer."""
        return GeminiWriter(request)

    def read_error(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        """What a provider's refusal means."""
        return read_refusal(status, body)

    def write_error(self, error: ProviderError) -> Wire:
        """A refusal, as the clients understand it."""
        return write_error(error)

    def write_count(self, tokens: int) -> Wire:
        """The answer to a count of tokens."""
        return Wire(body=dump({"totalTokens": tokens}))

    def write_models(self, models: Iterable[str]) -> Wire:
        """The list of models."""
        methods = ["generateContent", "countTokens"]
        listed = [
            {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods} for name in models
        ]
        return Wire(body=dump({"models": listed}))
