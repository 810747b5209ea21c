"""What a dialect is: one provider API's shape, read and written. One file per dialect; none knows another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from holdfast.core.exchange import ProviderError, Request, Response
from holdfast.gateway.delta import Delta


class Malformed(ValueError):
    """Bytes that are not what the dialect allows; the message names the path to the trouble."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """What a client wants of one path, the trial's prefix already taken off."""

    wish: Literal["generate", "count_tokens", "models", "probe"]
    """An answer, a count of tokens, the list of models, or just a sign of life."""

    stream: bool | None = None
    """Whether the path itself asks for a stream; None where the body says."""

    model: str | None = None
    """The model, where the path names it."""

    framing: Literal["sse", "array"] = "sse"
    """How a stream is wanted: as events, or as a JSON array that grows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Wire:
    """A message of the wire format, ready to be sent."""

    body: bytes
    """The body."""

    path: str = ""
    """Where a request goes, below the provider's base URL; empty for a response."""

    content_type: str = "application/json"
    """The type of the body."""

    status: int = 200
    """The status of a response."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """What else must be in the head."""


class StreamReader(Protocol):
    """Turns the bytes of a stream into deltas, wherever the bytes are cut."""

    def feed(self, chunk: bytes) -> Iterable[Delta]:
        """The deltas that are complete with this chunk."""
        ...

    def close(self) -> Iterable[Delta]:
        """The deltas that the end of the stream completes; `Broke` where it ended too early."""
        ...


class StreamWriter(Protocol):
    """Turns deltas into the bytes of a stream."""

    @property
    def content_type(self) -> str:
        """The type of the stream, usually `text/event-stream`."""
        ...

    def write(self, delta: Delta) -> bytes:
        """The bytes that tell this delta; empty where the dialect tells it later or not at all."""
        ...

    def close(self) -> bytes:
        """The bytes that end the stream."""
        ...


class Dialect(Protocol):
    """One provider API's shape."""

    @property
    def name(self) -> str:
        """As in a configuration: openai-chat, openai-responses, anthropic, gemini."""
        ...

    def route(self, method: str, path: str, query: Mapping[str, str]) -> Route | None:
        """What this path asks for; None where it is none of this dialect's."""
        ...

    def token(self, headers: Mapping[str, str], query: Mapping[str, str]) -> str | None:
        """The key that a client presents; header names are in lower case."""
        ...

    def key_headers(self, key: str) -> Mapping[str, str]:
        """The headers that present a key to the real provider."""
        ...

    def read_request(self, body: bytes, route: Route) -> Request:
        """What a client asks; raises Malformed."""
        ...

    def write_request(self, request: Request) -> Wire:
        """The same, as the provider wants to read it."""
        ...

    def read_response(self, body: bytes) -> Response:
        """What a provider answers when it does not stream; raises Malformed."""
        ...

    def write_response(self, response: Response, request: Request) -> Wire:
        """The same, as the client wants to read it."""
        ...

    def stream_reader(self) -> StreamReader:
        """A reader for one streamed answer."""
        ...

    def stream_writer(self, request: Request) -> StreamWriter:
        """A writer for one streamed answer."""
        ...

    def read_error(self, status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
        """What a provider's refusal means; never raises."""
        ...

    def write_error(self, error: ProviderError) -> Wire:
        """A refusal, as the dialect's clients understand it."""
        ...

    def write_count(self, tokens: int) -> Wire:
        """The answer to a count of tokens."""
        ...

    def write_models(self, models: Iterable[str]) -> Wire:
        """The list of models."""
        ...
