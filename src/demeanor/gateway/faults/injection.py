"""Injects a fault into one exchange: instead of the model call, in the content of the response, or in its transport."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from aiohttp import web

from demeanor.core.values.exchange import ProviderError, Response, StopReason
from demeanor.core.values.fault import DONE, FaultKind
from demeanor.core.values.messages import ToolCall
from demeanor.gateway.dialects.errors import STATUS, reason_of
from demeanor.gateway.faults.transport_faults import send_with_fault
from demeanor.gateway.models.prices import cost
from demeanor.gateway.models.upstream import (
    RETRY_HEADERS,
    ErrorReply,
    FullReply,
    PassthroughReply,
    StreamReply,
    UpstreamInterrupted,
)
from demeanor.gateway.server.exchange_recorder import ExchangeRecorder
from demeanor.gateway.server.respond import deliver, to_http_response
from demeanor.gateway.server.tee import response_tee

if TYPE_CHECKING:
    from demeanor.core.values.fault import Fault
    from demeanor.core.values.messages import Part
    from demeanor.gateway.models.upstream import ModelCall, Reply, Upstream

_CONTENT_FAULTS = (FaultKind.EMPTY, FaultKind.TOOL_ID)


async def inject(
    fault: Fault, upstream: Upstream, call: ModelCall, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Answer the call with this fault in the response. If the model itself fails, its error is passed on unchanged."""
    if fault.kind.isdigit():
        return _send_error(fault, call, recording)
    if fault.kind is FaultKind.REFUSED:
        return _close_connection(fault, recording, request)
    if fault.kind is FaultKind.HANG:
        return await _hang(fault, recording)
    async with upstream.answer(call) as reply:
        response = await _whole_response(reply, call, recording)
        if isinstance(response, ErrorReply):
            return await deliver(response, call, recording, request)
        recording.cost_usd = cost(response.usage, recording.price)
        if fault.kind not in _CONTENT_FAULTS:
            recording.fault = str(fault)
            return await send_with_fault(fault, response, call, recording, request)
        changed = _change_content(fault, response, seed=call.seed)
        if changed != response:
            recording.fault = str(fault)
        return await deliver(FullReply(response=changed), call, recording, request)


def _send_error(fault: Fault, call: ModelCall, recording: ExchangeRecorder) -> web.Response:
    """Send an error in the agent's dialect instead of a response."""
    status = int(fault.kind)
    error = ProviderError(status=status, reason=reason_of(status), message=f"injected fault {fault}")
    _record_without_call(fault, recording, error)
    seconds = 1 if fault.retry_after is None and fault.kind is FaultKind.RATE_LIMIT else fault.retry_after
    return to_http_response(call.dialect.write_error(error), {} if seconds is None else {"Retry-After": str(seconds)})


def _close_connection(fault: Fault, recording: ExchangeRecorder, request: web.BaseRequest) -> web.Response:
    """Close the connection instead of responding."""
    error = ProviderError(status=None, reason="unreachable", message=f"injected fault {fault}: {DONE[fault.kind]}")
    _record_without_call(fault, recording, error)
    if request.transport:
        request.transport.close()
    return web.Response(status=STATUS["unreachable"])


async def _hang(fault: Fault, recording: ExchangeRecorder) -> web.Response:
    """Send nothing until the agent disconnects or the trial ends; both cancel this coroutine."""
    error = ProviderError(status=None, reason="stalled", message=f"injected fault {fault}: {DONE[fault.kind]}")
    _record_without_call(fault, recording, error)
    recording.awaiting_provider = True
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def _record_without_call(fault: Fault, recording: ExchangeRecorder, error: ProviderError) -> None:
    """Record a fault for which no model was called, so nothing was spent."""
    recording.fault = str(fault)
    recording.cost_usd = 0.0
    recording.set_error(error)


async def _whole_response(reply: Reply, call: ModelCall, recording: ExchangeRecorder) -> Response | ErrorReply:
    """The complete response or error of any kind of reply. The recording only notes that bytes move."""
    if isinstance(reply, FullReply):
        return reply.response
    if isinstance(reply, ErrorReply):
        return reply
    buffer = ExchangeRecorder(number=0, dialect=call.dialect.name, request=call.request, started=0.0, origin=0.0)
    headers: dict[str, str] = {}
    if isinstance(reply, StreamReply):
        async for delta in reply.deltas:
            recording.touch()
            buffer.add_deltas([delta])
    elif isinstance(reply, PassthroughReply):
        headers = {name: reply.headers[name] for name in RETRY_HEADERS if name in reply.headers}
        await _read_bytes(reply, call, buffer, recording)
    exchange = buffer.exchange()
    if exchange.error is not None or exchange.response is None:
        no_response = ProviderError(status=502, reason="server", message="the provider gave no answer")
        return ErrorReply(error=exchange.error or no_response, headers=headers)
    return exchange.response


async def _read_bytes(
    reply: PassthroughReply, call: ModelCall, buffer: ExchangeRecorder, recording: ExchangeRecorder
) -> None:
    tee = response_tee(call, reply, buffer)
    try:
        async for chunk in reply.chunks:
            recording.touch()
            tee.feed(chunk)
    except UpstreamInterrupted as broke:
        buffer.set_error(broke.error)
        return
    tee.close()


def _change_content(fault: Fault, response: Response, *, seed: int) -> Response:
    """The response with the fault in its content; unchanged if there is nothing to change."""
    if fault.kind is FaultKind.EMPTY:
        return replace(response, parts=(), stop=StopReason.END)
    return replace(response, parts=tuple(_with_other_id(part, seed) for part in response.parts))


def _with_other_id(part: Part, seed: int) -> Part:
    """A tool call with an id that no provider would generate; the same call of the same trial gets the same id."""
    if not isinstance(part, ToolCall):
        return part
    return replace(part, id=f"changed_{hashlib.sha256(f'{seed}/{part.id}'.encode()).hexdigest()[:16]}")
