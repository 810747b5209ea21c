"""What a dialect is: one provider API's shape, read and written. One package per dialect."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from demeanor.core.exchange import ProviderError, Request, Response
from demeanor.gateway.dialects.stream_events import Delta


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
class WireFormat:
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


@dataclass(frozen=True, kw_only=True, slots=True)
class Dialect:
    """One provider API's shape: a function for each thing that is read or written."""

    name: str
    """As in a configuration: openai-chat, openai-responses, anthropic, gemini."""

    route: Callable[[str, str, Mapping[str, str]], Route | None]
    """What a method, path and query ask for; None where they are none of this dialect's."""

    token: Callable[[Mapping[str, str], Mapping[str, str]], str | None]
    """The key that a client presents in its head or query; header names are in lower case."""

    key_headers: Callable[[str], Mapping[str, str]]
    """The headers that present a key to the real provider."""

    read_request: Callable[[bytes, Route], Request]
    """What a client asks; raises Malformed."""

    write_request: Callable[[Request], WireFormat]
    """The same, as the provider wants to read it."""

    read_response: Callable[[bytes], Response]
    """What a provider answers when it does not stream; raises Malformed."""

    write_response: Callable[[Response, Request], WireFormat]
    """The same, as the client wants to read it."""

    stream_reader: Callable[[], StreamReader]
    """A reader for one streamed answer."""

    stream_writer: Callable[[Request], StreamWriter]
    """A writer for one streamed answer."""

    read_error: Callable[[int, bytes, Mapping[str, str]], ProviderError]
    """What a provider's refusal (status, body, head) means; never raises."""

    write_error: Callable[[ProviderError], WireFormat]
    """A refusal, as the dialect's clients understand it."""

    write_count: Callable[[int], WireFormat]
    """The answer to a count of tokens."""

    write_models: Callable[[Iterable[str]], WireFormat]
    """The list of models."""
