"""The interface of everything that answers model calls: a provider, a script, a cassette or a local model.

An upstream takes a ModelCall and returns a Reply. There are several kinds of reply, because the cheapest faithful form
differs: a script knows the whole response at once, a translation gets it piece by piece, and a provider that uses the
agent's own dialect is passed through byte by byte.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from demeanor.core.values.exchange import ProviderError
from demeanor.core.values.messages import Opaque

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from demeanor.core.values.exchange import Request, Response
    from demeanor.core.values.messages import Part
    from demeanor.gateway.dialects.dialect import Dialect, Route
    from demeanor.gateway.dialects.stream_events import Delta
    from demeanor.gateway.models.prices import Price

RETRY_HEADERS = ("Retry-After", "Retry-After-Ms", "X-Should-Retry")
"""Response headers that tell a client when to try again."""

_BYTES_PER_TOKEN = 4


def estimated_tokens(size: int) -> int:
    """A rough number of tokens for a text of `size` bytes, used if nothing better is known."""
    return size // _BYTES_PER_TOKEN


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelCall:
    """One request of an agent, on its way to an upstream."""

    request: Request
    """The request in canonical form."""

    dialect: Dialect
    """The wire format that the agent uses."""

    route: Route
    """The operation in the path: generate or count tokens."""

    body: bytes
    """The body of the request as it arrived."""

    path: str
    """Path and query below the session's prefix, without the agent's token."""

    headers: Mapping[str, str]
    """The headers of the request, names in lower case."""

    trial: str = ""
    """The trial's id."""

    seed: int = 0
    """The attempt's seed, for upstreams that sample."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """Facts about the attempt's environment: `workspace`, `home`, …"""

    note: Callable[[str], None] = lambda text: None
    """Adds a note for the reader to the trial."""

    queued: Callable[[bool], None] = lambda waits: None
    """Told when the request begins, and when it ends, to wait for its turn here."""

    received: Callable[[int], None] = lambda size: None
    """Told of the bytes of a provider's response as they arrive; raises UpstreamInterrupted if they are too many."""

    memory: dict[object, Any] = field(default_factory=dict)
    """State that an upstream keeps for this attempt, under a key of its own; discarded with the session."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FullReply:
    """The whole response, known at once."""

    response: Response
    """The response."""

    notes: tuple[str, ...] = ()
    """Notes about it for the user."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StreamReply:
    """A response that arrives piece by piece."""

    deltas: AsyncIterator[Delta]
    """The pieces; `Interrupted` is the last one if the response breaks off."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PassthroughReply:
    """Bytes in the agent's own dialect, forwarded unchanged and read on the way."""

    status: int
    """The HTTP status."""

    headers: Mapping[str, str]
    """The headers to forward; lookup ignores case."""

    chunks: AsyncIterator[bytes]
    """The body as it arrives; raises UpstreamInterrupted if it breaks off."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorReply:
    """An error instead of a response."""

    error: ProviderError
    """The error."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers for the agent, such as Retry-After."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenCountReply:
    """The reply to a request to count tokens."""

    tokens: int
    """The number of tokens."""


Reply: TypeAlias = FullReply | StreamReply | PassthroughReply | ErrorReply | TokenCountReply


def reply_without_model(call: ModelCall) -> TokenCountReply | ErrorReply | None:
    """The reply of an upstream that neither counts tokens nor stores anything; None if its model has to answer."""
    if call.route.operation == "count_tokens":
        return TokenCountReply(tokens=estimated_tokens(len(call.body)))
    return stored_state_error(call)


def stored_state_error(call: ModelCall) -> ErrorReply | None:
    """The error for a request that refers to data at a provider, if it does; only that provider can answer it.

    It is not the agent's mistake: the agent could not know that another model answers.
    """
    fields = call.request.extra.get(call.dialect.name) or {}
    stored_field = next((key for key in call.dialect.stored_state if fields.get(key)), None)
    opaque = [part for message in call.request.messages for part in message.parts if part.__class__ is Opaque]
    if stored_field is None and any(map(_is_reference, opaque)):
        stored_field = "item_reference"
    if stored_field is None:
        return None
    message = (
        f"{stored_field}: the model {call.request.model!r} stores nothing between requests; send the whole conversation"
    )
    return ErrorReply(error=ProviderError(status=400, reason="server", message=message))


def _is_reference(part: Part) -> bool:
    return isinstance(part, Opaque) and any(
        isinstance(data, dict) and data.get("type") == "item_reference" for data in part.extra.values()
    )


class UpstreamInterrupted(Exception):
    """The upstream broke off in the middle of its response."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(error.message)
        self.error = error


class Upstream(Protocol):
    """Answers the calls to one model."""

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None if unknown."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user."""
        ...

    def answer(self, call: ModelCall) -> AbstractAsyncContextManager[Reply]:
        """The reply; leaving the context releases its resources, also if the agent disconnects."""
        ...

    async def close(self) -> None:
        """Release everything that is kept open between calls."""
        ...
