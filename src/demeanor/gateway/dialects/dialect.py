"""The interface of a dialect: reads and writes the wire format of one provider API. Each dialect is a package."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from demeanor.core.values.exchange import ProviderError, Request, Response
from demeanor.gateway.dialects.stream_events import Delta

_MODELS = re.compile(r"(?:/v\d+\w*)?/models(?:/[^/:]+(?:/[^/:]+)?)?")
_PROBES = frozenset({"", "/v1", "/v1beta", "/health", "/healthz", "/ping"})


class Malformed(ValueError):
    """Bytes that violate the dialect's format; the message contains the path to the problem."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """The operation that a request's path selects; the session's prefix is already removed."""

    operation: Literal["generate", "count_tokens", "models", "probe"]
    """Generate a response, count tokens, list the models, or a health check."""

    stream: bool | None = None
    """Whether the path asks for a stream; None if the body decides."""

    model: str | None = None
    """The model, if it is in the path."""

    framing: Literal["sse", "array"] = "sse"
    """The format of a stream: server-sent events, or one JSON array."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WireFormat:
    """An encoded message, ready to send."""

    body: bytes
    """The body: JSON."""

    path: str = ""
    """The path of a request below the provider's base URL; empty for a response."""

    status: int = 200
    """The status of a response."""


class StreamReader(Protocol):
    """Turns the bytes of a stream into deltas; chunks may end anywhere."""

    def feed(self, chunk: bytes) -> Iterable[Delta]:
        """The deltas that are complete with this chunk."""
        ...

    def close(self) -> Iterable[Delta]:
        """The deltas that the end of the stream completes; `Interrupted` if it ended too early."""
        ...


class StreamWriter(Protocol):
    """Turns deltas into the bytes of a stream."""

    @property
    def content_type(self) -> str:
        """The content type of the stream, usually `text/event-stream`."""
        ...

    def write(self, delta: Delta) -> bytes:
        """The bytes for this delta; empty if the dialect sends it later or not at all."""
        ...

    def close(self) -> bytes:
        """The bytes that end the stream."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """The wire format of one provider API: a function for each kind of message that is read or written."""

    name: str
    """Its name in the configuration: openai-chat, openai-responses, anthropic, gemini."""

    route: Callable[[str, str, Mapping[str, str]], Route | None]
    """The route for a method, path and query; None if the dialect has none."""

    token: Callable[[Mapping[str, str], Mapping[str, str]], str | None]
    """The key in a client's headers or query; header names are in lower case."""

    key_headers: Callable[[str], Mapping[str, str]]
    """The headers that send a key to the provider."""

    read_request: Callable[[bytes, Route], Request]
    """Reads a client's request; raises Malformed."""

    write_request: Callable[[Request], WireFormat]
    """Writes a request for the provider."""

    read_response: Callable[[bytes], Response]
    """Reads a provider's response that is not streamed; raises Malformed."""

    write_response: Callable[[Response, Request], WireFormat]
    """Writes a response for the client."""

    stream_reader: Callable[[], StreamReader]
    """Creates a reader for one streamed response."""

    stream_writer: Callable[[Request], StreamWriter]
    """Creates a writer for one streamed response."""

    write_error: Callable[[ProviderError], WireFormat]
    """Writes an error response for the client."""

    write_count: Callable[[int], WireFormat]
    """Writes the response to a token count request."""

    write_models: Callable[[Iterable[str]], WireFormat]
    """Writes the list of models."""

    names_events: bool = False
    """Whether its server-sent events have names, which are the types of their data."""

    model_in_path: bool = False
    """Whether a request names its model in the path instead of the body."""

    stored_state: tuple[str, ...] = ()
    """Fields of requests that refer to data which an earlier request left at the provider."""


def post_route(pattern: re.Pattern[str], method: str, path: str) -> Route | None:
    """The route of an API with one POST path; a group of the pattern that matches means a token count."""
    match = pattern.fullmatch(path.rstrip("/"))
    if method == "POST" and match:
        return Route(operation="count_tokens" if match.lastindex else "generate")
    return common_route(method, path)


def common_route(method: str, path: str) -> Route | None:
    """The routes that all dialects share: the list of models, and the health checks that clients send first."""
    bare = path.rstrip("/")
    if method == "GET" and _MODELS.fullmatch(bare):
        return Route(operation="models")
    if method in {"HEAD", "OPTIONS"} or (method == "GET" and bare in _PROBES):
        return Route(operation="probe")
    return None


def bearer(headers: Mapping[str, str]) -> str | None:
    """The key in an Authorization header."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() or None if scheme.lower() == "bearer" else None
