"""Injects a fault into one exchange: instead of the model call, in the content of the response, or in its transport."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aiohttp import web

from demeanor.core.values.exchange import ProviderError, Response, StopReason
from demeanor.core.values.fault import DONE, FaultKind
from demeanor.core.values.messages import ToolCall
from demeanor.gateway.dialects.errors import STATUS, reason_of
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
from demeanor.gateway.server.respond import deliver, small_deltas, to_http_response
from demeanor.gateway.server.tee import response_tee

if TYPE_CHECKING:
    from collections.abc import Mapping

    from demeanor.core.values.exchange import Response
    from demeanor.core.values.fault import Fault
    from demeanor.core.values.messages import Part
    from demeanor.gateway.models.upstream import ModelCall, Reply, Upstream
    from demeanor.gateway.server.exchange_recorder import ExchangeRecorder

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


# Transport faults: the bytes of a response sent slowly, cut off, malformed or with a wrong content type.

_DRIP_SECONDS = 0.5
_WRONG_TYPE = "text/html"
_DRIP_PIECES = 10
"""Number of pieces in which a response that is not streamed is sent slowly."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EncodedResponse:
    """A response as it would be sent without a fault."""

    pieces: tuple[bytes, ...]
    """The body: the events of a stream, or all of it in one piece."""

    headers: Mapping[str, str]
    """The headers."""

    streamed: bool
    """Whether the pieces are the events of a stream."""


async def send_with_fault(
    fault: Fault, response: Response, call: ModelCall, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Send the response with the fault in it, and record what the agent can see of it."""
    encoded = _encode(response, call)
    if fault.kind is FaultKind.DRIP:
        return await _send_slowly(fault, encoded, response, recording, request)
    if fault.kind is FaultKind.CONTENT_TYPE:
        recording.set_response(response)
        headers = {**encoded.headers, "Content-Type": fault.content_type or _WRONG_TYPE}
        return await _send(encoded.pieces, headers, recording, request)
    if fault.kind is FaultKind.MALFORMED:
        return await _send_malformed(fault, encoded, response, recording, request)
    recording.set_error(_error(fault, "cut"))
    middle = len(encoded.pieces) // 2
    before, piece = encoded.pieces[:middle], encoded.pieces[middle]
    recording.add_deltas(call.dialect.stream_reader().feed(b"".join(before)))
    if fault.kind is FaultKind.TRUNCATED and encoded.streamed:
        return await _send((*before, _truncated_event(piece)), encoded.headers, recording, request)
    half = piece[: len(piece) // 2]
    if fault.kind is FaultKind.TRUNCATED:
        return await _send((half,), encoded.headers, recording, request)
    return await _send_cut((*before, half), encoded, recording, request)


def _encode(response: Response, call: ModelCall) -> EncodedResponse:
    if not call.request.stream:
        wire = call.dialect.write_response(response, call.request)
        headers = {"Content-Type": "application/json"}
        return EncodedResponse(pieces=(wire.body,), headers=headers, streamed=False)
    writer = call.dialect.stream_writer(call.request)
    pieces = [*(writer.write(delta) for delta in small_deltas(response)), writer.close()]
    headers = {"Content-Type": writer.content_type, "Cache-Control": "no-cache"}
    return EncodedResponse(pieces=tuple(piece for piece in pieces if piece), headers=headers, streamed=True)


async def _send_slowly(
    fault: Fault, encoded: EncodedResponse, response: Response, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Send slowly. If the agent disconnects before the end, the recorded error is a stalled provider."""
    recording.error = _error(fault, "stalled")
    pieces = encoded.pieces if encoded.streamed else _split(encoded.pieces[0])
    answer = await _send(pieces, encoded.headers, recording, request, delay=fault.delay or _DRIP_SECONDS)
    recording.set_response(response)
    recording.error = None
    return answer


async def _send_malformed(
    fault: Fault, encoded: EncodedResponse, response: Response, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Send malformed data: an extra broken event in a stream, which an agent may skip, or a body that is not JSON."""
    if not encoded.streamed:
        recording.set_error(_error(fault, "server"))
        return await _send((b"{" + encoded.pieces[0],), encoded.headers, recording, request)
    recording.set_response(response)
    middle = len(encoded.pieces) // 2
    pieces = (*encoded.pieces[:middle], _truncated_event(encoded.pieces[middle]), *encoded.pieces[middle:])
    return await _send(pieces, encoded.headers, recording, request)


async def _send_cut(
    begun: tuple[bytes, ...], encoded: EncodedResponse, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Announce the whole response in the headers, and close the connection before its end."""
    headers = dict(encoded.headers)
    if not encoded.streamed:
        headers["Content-Length"] = str(len(encoded.pieces[0]))
    answer = web.StreamResponse(headers=headers)
    await answer.prepare(request)
    for piece in begun:
        recording.touch_response()
        await answer.write(piece)
    if request.transport:
        request.transport.close()
    return answer


async def _send(
    pieces: tuple[bytes, ...],
    headers: Mapping[str, str],
    recording: ExchangeRecorder,
    request: web.BaseRequest,
    *,
    delay: float = 0.0,
) -> web.StreamResponse:
    answer = web.StreamResponse(headers=headers)
    await answer.prepare(request)
    for place, piece in enumerate(pieces):
        if place and delay:
            await asyncio.sleep(delay)
        recording.touch_response()
        await answer.write(piece)
    await answer.write_eof()
    return answer


def _truncated_event(piece: bytes) -> bytes:
    """The last event of a piece with its name, its data cut short, and a proper end."""
    end = b"\n\n" if piece.endswith(b"\n\n") else b""
    event = piece.removesuffix(end).rpartition(b"\n\n")[2]
    field, mark, data = event.rpartition(b"data: ")
    return field + mark + data[: len(data) // 2] + end


def _split(body: bytes) -> tuple[bytes, ...]:
    size = -(-len(body) // _DRIP_PIECES)
    return tuple(body[start : start + size] for start in range(0, len(body), size))


def _error(fault: Fault, reason: str) -> ProviderError:
    message = f"injected fault {fault}: {DONE[fault.kind]}"
    return ProviderError(status=200, reason=reason, message=message)  # type: ignore[arg-type]
