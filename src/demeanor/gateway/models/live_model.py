"""A model of a real provider: forwarded to where it is, and nothing of the provider's key ever comes back.

Where the agent and the provider speak the same dialect, bytes pass unchanged in both directions. Where they do not, the
request is told in the provider's dialect and the answer, piece by piece, in the agent's.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from demeanor.core.exchange import ProviderError
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.stream_events import Broke
from demeanor.gateway.models.upstream import Answered, Counted, Passed, ProviderRefused, Streamed, UpstreamBroke
from demeanor.gateway.server.session import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from demeanor.gateway.dialects.dialect import Dialect
    from demeanor.gateway.dialects.stream_events import Delta
    from demeanor.gateway.models.prices import Price
    from demeanor.gateway.models.provider import Opened, Provider
    from demeanor.gateway.models.upstream import Ask, Reply

_KEPT_BACK = (
    "authorization x-api-key x-goog-api-key api-key cookie host content-length content-encoding accept-encoding expect"
    " connection keep-alive proxy-authorization proxy-connection te trailer transfer-encoding upgrade"
)
"""Of an agent's head: its token, and what concerns its connection with us."""

_RETRY = ("Retry-After", "Retry-After-Ms", "X-Should-Retry")


@dataclass(frozen=True, kw_only=True, slots=True)
class LiveModel:
    """An upstream that forwards to a provider."""

    provider: Provider
    """Who is asked."""

    model: str | None = None
    """The provider's own name for the model; None where the agent's name for it is the same."""

    price: Price | None = None
    """What its tokens cost; None where that is not known."""

    notes: tuple[str, ...] = ()
    """What a person should know of it."""

    @property
    def secret(self) -> str:
        """The provider's key, which no recording may hold."""
        return self.provider.key

    async def close(self) -> None:
        """Close the provider's connections."""
        await self.provider.close()

    @asynccontextmanager
    async def answer(self, ask: Ask) -> AsyncIterator[Reply]:
        """What the provider replies."""
        spoken = self.provider.spoken_with(ask.dialect)
        same = spoken.name == ask.dialect.name
        if ask.route.wish == "count_tokens" and not same:
            yield Counted(tokens=len(ask.body) // BYTES_PER_TOKEN)
            return
        path, body, headers = self._outward(ask, spoken)
        async with self.provider.post(path, body, {**headers, **spoken.key_headers(self.provider.key)}) as opened:
            if isinstance(opened, ProviderError):
                yield ProviderRefused(error=opened)
            elif 300 <= opened.status < 400:
                yield ProviderRefused(error=self._moved(opened))
            elif same:
                yield Passed(status=opened.status, headers=opened.headers, chunks=opened.chunks)
            else:
                async with aclosing(_deltas(opened, spoken)) as deltas:
                    yield await self._translated(opened, deltas, spoken)

    def _outward(self, ask: Ask, spoken: Dialect) -> tuple[str, bytes, Mapping[str, str]]:
        """What the provider is sent: the agent's own bytes, wherever they can stay as they are."""
        same = spoken.name == ask.dialect.name
        if same and self.model in {None, ask.request.model}:
            return ask.path, ask.body, _forwarded(ask)
        wire = spoken.write_request(replace(ask.request, model=self.model or ask.request.model))
        own = _forwarded(ask) if same else {}
        return wire.path, wire.body, {**own, **wire.headers, "Content-Type": wire.content_type}

    async def _translated(self, opened: Opened, deltas: AsyncIterator[Delta], spoken: Dialect) -> Reply:
        """An answer in another dialect than the agent's."""
        if opened.status < 400 and "event-stream" in opened.headers.get("Content-Type", ""):
            return Streamed(deltas=deltas)
        try:
            body = await opened.read()
            if opened.status < 400:
                return Answered(response=spoken.read_response(body))
        except UpstreamBroke as broke:
            return ProviderRefused(error=broke.error)
        except Malformed as error:
            message = f"{self.provider.name} gave an answer that can't be read: {error}"
            return ProviderRefused(error=ProviderError(status=502, reason="server", message=message))
        lower = {name.lower(): value for name, value in opened.headers.items()}
        again = {name: opened.headers[name] for name in _RETRY if name in opened.headers}
        return ProviderRefused(error=spoken.read_error(opened.status, body, lower), headers=again)

    def _moved(self, opened: Opened) -> ProviderError:
        """Nobody is led to another address: not this key, and not the agent."""
        place = opened.headers.get("Location", "elsewhere")
        message = f"{self.provider.name} points to {place}: if that is right, make it the base URL"
        return ProviderError(status=502, reason="server", message=message)


async def _deltas(opened: Opened, spoken: Dialect) -> AsyncGenerator[Delta, None]:
    reader = spoken.stream_reader()
    try:
        async for chunk in opened.chunks:
            for delta in reader.feed(chunk):
                yield delta
    except UpstreamBroke as broke:
        yield Broke(error=broke.error)
        return
    for delta in reader.close():
        yield delta


def _forwarded(ask: Ask) -> dict[str, str]:
    return {name: value for name, value in ask.headers.items() if name not in _KEPT_BACK.split()}
