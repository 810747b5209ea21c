"""OpenAI Responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from holdfast.core.exchange import ProviderError, Request, Response
from holdfast.gateway.dialects.dialect import Route, StreamReader, StreamWriter, Wire
from holdfast.gateway.dialects.openai_chat.refusal import write_error
from holdfast.gateway.dialects.openai_responses.content import NAME
from holdfast.gateway.dialects.openai_responses.reader import ResponsesReader
from holdfast.gateway.dialects.openai_responses.request import read_request, write_request
from holdfast.gateway.dialects.openai_responses.response import read_response, write_response
from holdfast.gateway.dialects.openai_responses.writer import ResponsesWriter
from holdfast.gateway.dialects.paths import bearer, common_route
from holdfast.gateway.dialects.refusal import read_refusal
from holdfast.gateway.dialects.wire import dump

_PATH = re.compile(r"(?:/v\d+\w*)?/responses(/input_tokens)?")


class OpenAIResponses:
    """OpenAI Responses. A provider's base URL ends with its version, as in `https://api.openai.com/v1`."""

    name = NAME

    def route(self, method: str, path: str, query: Mapping[str, str]) -> Route | None:
        """What this path asks for."""
        found = _PATH.fullmatch(path.rstrip("/"))
        if method == "POST" and found:
            return Route(wish="count_tokens" if found[1] else "generate")
        return common_route(method, path)

    def token(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """The key that a client presents."""
        return bearer(headers) or headers.get("api-key")

    def key_headers(self, key: str) -> Mapping[str, str]:
        """The headers that present a key."""
        return {"Authorization": f"Bearer {key}"}

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
        return ResponsesReader()

    def stream_writer(self, request: Request) -> StreamWriter:
        """A writer for one streamed answer."""
        return ResponsesWriter(request)

    def read_error(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        """What a provider's refusal means."""
        return read_refusal(status, body)

    def write_error(self, error: ProviderError) -> Wire:
        """A refusal, as the clients understand it."""
        return write_error(error)

    def write_count(self, tokens: int) -> Wire:
        """The answer to a count of tokens."""
        return Wire(body=dump({"object": "response.input_tokens", "input_tokens": tokens}))

    def write_models(self, models: Iterable[str]) -> Wire:
        """The list of models."""
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "holdfast"} for name in models]
        return Wire(body=dump({"object": "list", "data": listed}))
