"""Sends an upstream's reply to the agent in the agent's dialect, and records it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from aiohttp import web

from demeanor.gateway.dialects.stream_events import Interrupted, PartGrew, deltas_of
from demeanor.gateway.models.upstream import ErrorReply, FullReply, PassthroughReply, StreamReply, UpstreamInterrupted
from demeanor.gateway.server.tee import response_tee

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from demeanor.core.values.exchange import Response
    from demeanor.gateway.dialects.dialect import WireFormat
    from demeanor.gateway.dialects.stream_events import Delta
    from demeanor.gateway.models.upstream import ModelCall, Reply
    from demeanor.gateway.server.exchange_recorder import ExchangeRecorder

_AT_ONCE = 16 * 1024
"""Bytes that a transport without others holds without making its writer wait."""

_MAX_DELTA_CHARS = 40
"""Longest piece of text, in characters, when a complete response is sent as a stream."""


async def deliver(
    reply: Reply, call: ModelCall, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Send a reply to the agent and record it."""
    if isinstance(reply, FullReply):
        recording.set_response(reply.response)
        if call.request.stream:
            return await _stream_full_reply(reply.response, call, recording, request)
        recording.touch_response()
        return to_http_response(call.dialect.write_response(reply.response, call.request))
    if isinstance(reply, StreamReply):
        return await _stream(reply, call, recording, request)
    if isinstance(reply, PassthroughReply):
        return await _pass(reply, call, recording, request)
    if isinstance(reply, ErrorReply):
        recording.set_error(reply.error)
        return to_http_response(call.dialect.write_error(reply.error), reply.headers)
    return to_http_response(call.dialect.write_count(reply.tokens))


def to_http_response(wire: WireFormat, headers: Mapping[str, str] | None = None) -> web.Response:
    """A wire message as an HTTP response."""
    return web.Response(
        status=wire.status, body=wire.body, headers={**(headers or {}), "Content-Type": "application/json"}
    )


def small_deltas(response: Response) -> Iterator[Delta]:
    """A complete response as small deltas, as a provider would have streamed it."""
    for delta in deltas_of(response):
        if isinstance(delta, PartGrew) and len(delta.text) > _MAX_DELTA_CHARS:
            for start in range(0, len(delta.text), _MAX_DELTA_CHARS):
                yield replace(delta, text=delta.text[start : start + _MAX_DELTA_CHARS])
        else:
            yield delta


async def _stream_full_reply(
    response: Response, call: ModelCall, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    writer = call.dialect.stream_writer(call.request)
    answer = await _begin(request, writer.content_type)
    for delta in small_deltas(response):
        recording.touch_response()
        await answer.write(writer.write(delta))
    await answer.write_eof(writer.close())
    return answer


async def _stream(
    reply: StreamReply, call: ModelCall, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Record deltas and write them in the agent's dialect, each as soon as it arrives."""
    writer = call.dialect.stream_writer(call.request)
    answer = await _begin(request, writer.content_type)
    async for delta in reply.deltas:
        recording.awaiting_provider = False
        recording.touch_response()
        recording.add_deltas([delta])
        await answer.write(writer.write(delta))
        recording.awaiting_provider = not isinstance(delta, Interrupted)
    recording.complete, recording.awaiting_provider = True, False
    await answer.write_eof(writer.close())
    return answer


async def _begin(request: web.BaseRequest, content_type: str) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": content_type, "Cache-Control": "no-cache"})
    await answer.prepare(request)
    return answer


async def _pass(
    reply: PassthroughReply, call: ModelCall, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Forward bytes as they arrive: first to the tee that reads them, then to the agent.

    What can be sent without waiting is sent first, since reading it takes a while: nothing else happens in between.
    """
    answer = web.StreamResponse(status=reply.status, headers=reply.headers)
    tee = response_tee(call, reply, recording)
    held: list[bytes] = []
    try:
        await _forward(answer, request, held, when=tee.immediate)
        async for chunk in reply.chunks:
            recording.awaiting_provider = False
            recording.touch_response()
            if not held and answer.prepared and tee.forwards(chunk) and _is_sent_at_once(request, chunk):
                try:
                    await answer.write(chunk)
                finally:
                    tee.feed(chunk)
            else:
                tee.feed(chunk)
                held.append(chunk)
                await _forward(answer, request, held, when=tee.immediate)
            recording.awaiting_provider = True
    except UpstreamInterrupted as broke:
        recording.set_error(broke.error)
        await _forward(answer, request, held)
        if request.transport:
            request.transport.abort()
        return answer
    except (asyncio.CancelledError, ConnectionError):
        tee.abandon()
        raise
    recording.complete, recording.awaiting_provider = True, False
    tee.close()
    await _forward(answer, request, held)
    await answer.write_eof()
    return answer


def _is_sent_at_once(request: web.BaseRequest, chunk: bytes) -> bool:
    """Whether the system takes these bytes, or the transport holds them, without anyone waiting."""
    transport = request.transport
    return len(chunk) <= _AT_ONCE and transport is not None and transport.get_write_buffer_size() == 0


async def _forward(
    answer: web.StreamResponse, request: web.BaseRequest, held: list[bytes], *, when: bool = True
) -> None:
    """Send the headers and all bytes that are held back."""
    if when and not answer.prepared:
        await answer.prepare(request)
    while when and held:
        await answer.write(held.pop(0))
