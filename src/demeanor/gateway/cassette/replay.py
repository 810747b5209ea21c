"""A model that answers from cassettes: it knows no provider, opens no socket and costs nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from demeanor.core.codec import decode, encode
from demeanor.core.errors import CassetteError, CassetteUnmatched
from demeanor.core.exchange import ProviderError, Response
from demeanor.gateway.cassette.make import own_text
from demeanor.gateway.cassette.match import ReplayQueue
from demeanor.gateway.cassette.normalise import Normaliser
from demeanor.gateway.cassette.placeholders import Places
from demeanor.gateway.dialects.stream_events import Broke, Finished, deltas_of
from demeanor.gateway.models.prices import FREE
from demeanor.gateway.models.upstream import Answered, Counted, ProviderRefused, Streamed
from demeanor.gateway.server.session import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from pathlib import Path

    from demeanor.core.exchange import Exchange
    from demeanor.core.trial import Trial
    from demeanor.gateway.cassette.folder import CassetteFolder
    from demeanor.gateway.dialects.stream_events import Delta
    from demeanor.gateway.models.prices import Price
    from demeanor.gateway.models.upstream import Ask, Reply


@dataclass(frozen=True, kw_only=True, slots=True)
class Played:
    """A cassette while an attempt is replayed from it."""

    path: Path
    """Its file."""

    deck: ReplayQueue
    """Its exchanges."""

    places: Places
    """The bench that the attempt runs on."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReplayModel:
    """An upstream that answers for every model, with what was recorded in the same trial."""

    folder: CassetteFolder
    """Where cassettes lie."""

    trials: Mapping[str, Trial]
    """The trials of the run, by their ids."""

    normaliser: Normaliser = field(default_factory=Normaliser)
    """What counts when requests are compared."""

    secrets: Sequence[str] = ()
    """What stands in no cassette, and so must not in a request that is looked up."""

    price: Price | None = FREE
    """Nothing is spent."""

    secret: str = ""
    """It uses no key."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the answers come from."""
        return (f"replayed from {self.folder.folder}: no model was asked, nothing was spent",)

    @asynccontextmanager
    async def answer(self, ask: Ask) -> AsyncIterator[Reply]:
        """What was recorded; a request that was not is refused in a way that no client tries again."""
        if ask.route.wish == "count_tokens":
            yield Counted(tokens=len(ask.body) // BYTES_PER_TOKEN)
            return
        try:
            played = await self._played(ask)
            exchange = self._found(ask, played)
        except CassetteError as error:
            yield ProviderRefused(error=ProviderError(status=400, reason="cassette", message=error.detail))
            return
        yield _reply(exchange, played.places, stream=ask.request.stream)

    async def close(self) -> None:
        """Nothing is held open."""

    async def _played(self, ask: Ask) -> Played:
        """The attempt's cassette, read when it is first asked for, and once, however many ask for it at a time."""
        loading = ask.memory.get(self)
        if loading is None:
            loading = ask.memory[self] = asyncio.ensure_future(asyncio.to_thread(self._load, ask))
        found: Played = await asyncio.shield(loading)
        return found

    def _load(self, ask: Ask) -> Played:
        trial = self.trials[ask.trial]
        path, cassette = self.folder.read(trial.eval.name, str(trial.subject), trial.number)
        own = own_text(trial.eval.scenario)
        meanings = [self.normaliser.meaning(encode(exchange.request)) for exchange in cassette.exchanges]
        return Played(
            path=path, deck=ReplayQueue(cassette.exchanges, meanings), places=Places(ask.facts, self.secrets, own)
        )

    def _found(self, ask: Ask, played: Played) -> Exchange:
        meaning = self.normaliser.meaning(played.places.hide_request(encode(ask.request)))
        exchange = played.deck.draw(meaning)
        if exchange is not None:
            return exchange
        near = played.deck.nearest(meaning)
        told = f"{played.path}: none of its {len(played.deck)} exchanges is such a request"
        if near is not None:
            recorded, found = near
            told += (
                f"\n  the nearest is exchange {recorded.number}; they first differ at {found.path}"
                f"\n    recorded: {found.recorded}\n    asked:    {found.asked}"
            )
        raise CassetteUnmatched(f"{told}\n  → if the change is meant, record it again: demeanor run --record")


def _reply(exchange: Exchange, places: Places, *, stream: bool) -> Reply:
    """A recorded answer, error or both, told on another bench."""
    response, error = exchange.response, exchange.error
    if response is not None:
        response = decode(Response, places.show(encode(response)))
    if response is not None and error is not None and stream:
        return Streamed(deltas=_broken_off(response, error))
    if response is not None and error is None:
        return Answered(response=response)
    return ProviderRefused(error=error or ProviderError(status=None, reason="cut", message="no answer was recorded"))


async def _broken_off(response: Response, error: ProviderError) -> AsyncIterator[Delta]:
    for delta in deltas_of(response):
        if not isinstance(delta, Finished):
            yield delta
    yield Broke(error=error)
