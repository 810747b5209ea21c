"""The whole answer of an upstream, whichever way it replies: what is to be broken must be known first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.exchange import ProviderError, Response
from demeanor.gateway.models.upstream import Answered, Passed, ProviderRefused, Streamed, UpstreamBroke
from demeanor.gateway.server.exchange_recorder import ExchangeRecorder
from demeanor.gateway.server.tee import listener

if TYPE_CHECKING:
    from demeanor.gateway.models.upstream import Ask, Reply

_RETRY = ("Retry-After", "Retry-After-Ms", "X-Should-Retry")


async def gather(reply: Reply, ask: Ask, recording: ExchangeRecorder) -> Response | ProviderRefused:
    """The answer, or the failure that came instead; the recording only learns that bytes move."""
    if isinstance(reply, Answered):
        return reply.response
    if isinstance(reply, ProviderRefused):
        return reply
    aside = ExchangeRecorder(number=0, dialect=ask.dialect.name, request=ask.request, started=0.0, origin=0.0)
    headers: dict[str, str] = {}
    if isinstance(reply, Streamed):
        async for delta in reply.deltas:
            recording.touch()
            aside.heard([delta])
    elif isinstance(reply, Passed):
        headers = {name: reply.headers[name] for name in _RETRY if name in reply.headers}
        await _listen(reply, ask, aside, recording)
    heard = aside.exchange()
    if heard.error is not None or heard.response is None:
        nothing = ProviderError(status=502, reason="server", message="the provider gave no answer")
        return ProviderRefused(error=heard.error or nothing, headers=headers)
    return heard.response


async def _listen(reply: Passed, ask: Ask, aside: ExchangeRecorder, recording: ExchangeRecorder) -> None:
    hearing = listener(ask, reply, aside)
    try:
        async for chunk in reply.chunks:
            recording.touch()
            hearing.feed(chunk)
    except UpstreamBroke as broke:
        aside.failed(broke.error)
        return
    hearing.close()
