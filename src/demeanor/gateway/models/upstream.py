"""Who answers a request: a provider, a script, later a cassette or a model of our own. All of them are an Upstream.

An upstream gets an Ask and gives a Reply. There are a few kinds of reply, because what is cheap and faithful differs:
a script knows the whole answer at once, a translation knows it piece by piece, and a provider that speaks the agent's
own dialect is passed through byte by byte.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager

    from demeanor.core.exchange import ProviderError, Request, Response
    from demeanor.gateway.dialects.dialect import Dialect, Route
    from demeanor.gateway.dialects.stream_events import Delta
    from demeanor.gateway.models.prices import Price


@dataclass(frozen=True, kw_only=True, slots=True)
class Ask:
    """One request of an agent, on its way to whoever answers it."""

    request: Request
    """What is asked."""

    dialect: Dialect
    """The wire format the agent speaks."""

    route: Route
    """What the path asks for: an answer or a count of tokens."""

    body: bytes
    """The request's body as it came."""

    path: str
    """Path and query below the session's prefix, without the agent's token."""

    headers: Mapping[str, str]
    """The request's head as it came, names in lower case."""

    trial: str = ""
    """The trial's id."""

    seed: int = 0
    """The attempt's seed, for an upstream that draws."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """What is known of the bench that the agent works on: `workspace`, `home`, …"""

    memory: dict[object, Any] = field(default_factory=dict)
    """What an upstream keeps in mind of the attempt, under a key of its own; it is gone with the session."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """The whole answer, known at once."""

    response: Response
    """What is answered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Streamed:
    """An answer that comes piece by piece."""

    deltas: AsyncIterator[Delta]
    """The pieces; `Broke` is the last one where it breaks off."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Passed:
    """Bytes in the agent's own dialect, passed on unchanged and read on the side."""

    status: int
    """The HTTP status."""

    headers: Mapping[str, str]
    """What of the head is passed on; names are found in any case."""

    chunks: AsyncIterator[bytes]
    """The body as it comes; raises UpstreamBroke where it breaks off."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderRefused:
    """No answer, but an error."""

    error: ProviderError
    """Why."""

    headers: Mapping[str, str] = field(default_factory=dict)
    """What else the agent is told, such as Retry-After."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Counted:
    """The answer to a count of tokens."""

    tokens: int
    """How many."""


Reply: TypeAlias = Answered | Streamed | Passed | ProviderRefused | Counted


class UpstreamBroke(Exception):
    """The upstream broke off in the middle of its answer."""

    def __init__(self, error: ProviderError) -> None:
        super().__init__(error.message)
        self.error = error


class Upstream(Protocol):
    """Whoever answers for a model."""

    @property
    def price(self) -> Price | None:
        """What its tokens cost; None where that is not known."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of it."""
        ...

    @property
    def secret(self) -> str:
        """The key it uses, which no recording may hold; empty where it uses none."""
        ...

    def answer(self, ask: Ask) -> AbstractAsyncContextManager[Reply]:
        """Its reply; what it holds open for that is closed on leaving, also when the agent hangs up."""
        ...

    async def close(self) -> None:
        """Let go of everything it holds open between answers."""
        ...
