"""Telling an agent what its upstream replied, in the agent's own dialect, while recording it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aiohttp import web

from demeanor.gateway.dialects.stream_events import Broke, PartGrew, deltas_of
from demeanor.gateway.models.upstream import Answered, Passed, ProviderRefused, Streamed, UpstreamBroke
from demeanor.gateway.server.tee import listener

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from demeanor.core.exchange import Response
    from demeanor.gateway.dialects.dialect import WireFormat
    from demeanor.gateway.dialects.stream_events import Delta
    from demeanor.gateway.models.upstream import Ask, Reply
    from demeanor.gateway.server.exchange_recorder import ExchangeRecorder

_PIECE = 40
"""Characters of a known answer that are told at a time when a stream is wanted."""


async def deliver(reply: Reply, ask: Ask, recording: ExchangeRecorder, request: web.BaseRequest) -> web.StreamResponse:
    """Send a reply to the agent and note in the recording what it says."""
    if isinstance(reply, Answered):
        recording.answered(reply.response)
        if ask.request.stream:
            return await _stream_known(reply.response, ask, recording, request)
        recording.answering()
        return plain(ask.dialect.write_response(reply.response, ask.request))
    if isinstance(reply, Streamed):
        return await _stream(reply, ask, recording, request)
    if isinstance(reply, Passed):
        return await _pass(reply, ask, recording, request)
    if isinstance(reply, ProviderRefused):
        recording.failed(reply.error)
        return plain(ask.dialect.write_error(reply.error), reply.headers)
    return plain(ask.dialect.write_count(reply.tokens))


def plain(wire: WireFormat, headers: Mapping[str, str] | None = None) -> web.Response:
    """A message of the wire format as an HTTP response."""
    return web.Response(
        status=wire.status,
        body=wire.body,
        headers={**wire.headers, **(headers or {}), "Content-Type": wire.content_type},
    )


def told(response: Response) -> Iterator[Delta]:
    """A whole answer in small pieces, as a provider would have streamed it."""
    for delta in deltas_of(response):
        if isinstance(delta, PartGrew) and len(delta.text) > _PIECE:
            for start in range(0, len(delta.text), _PIECE):
                yield replace(delta, text=delta.text[start : start + _PIECE])
        else:
            yield delta


async def _stream_known(
    response: Response, ask: Ask, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    writer = ask.dialect.stream_writer(ask.request)
    answer = await _begin(request, writer.content_type)
    for delta in told(response):
        recording.answering()
        await answer.write(writer.write(delta))
    await answer.write_eof(writer.close())
    return answer


async def _stream(
    reply: Streamed, ask: Ask, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Tell deltas in the agent's dialect, each as soon as it is known."""
    writer = ask.dialect.stream_writer(ask.request)
    answer = await _begin(request, writer.content_type)
    async for delta in reply.deltas:
        recording.owed = False
        recording.answering()
        await answer.write(writer.write(delta))
        recording.heard([delta])
        recording.owed = not isinstance(delta, Broke)
    await answer.write_eof(writer.close())
    return answer


async def _begin(request: web.BaseRequest, content_type: str) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": content_type, "Cache-Control": "no-cache"})
    await answer.prepare(request)
    return answer


async def _pass(reply: Passed, ask: Ask, recording: ExchangeRecorder, request: web.BaseRequest) -> web.StreamResponse:
    """Pass bytes on as they come: first on their way, then into the side reader."""
    answer = web.StreamResponse(status=reply.status, headers=reply.headers)
    aside = listener(ask, reply, recording)
    await answer.prepare(request)
    try:
        async for chunk in reply.chunks:
            recording.owed = False
            recording.answering()
            await answer.write(chunk)
            aside.feed(chunk)
            recording.owed = True
    except UpstreamBroke as broke:
        recording.failed(broke.error)
        if request.transport:
            request.transport.abort()
        return answer
    aside.close()
    await answer.write_eof()
    return answer
