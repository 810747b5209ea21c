"""Transport faults: the bytes of a response sent slowly, cut off, malformed or with a wrong content type."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from demeanor.core.values.exchange import ProviderError
from demeanor.core.values.fault import DONE, FaultKind
from demeanor.gateway.server.respond import small_deltas

if TYPE_CHECKING:
    from collections.abc import Mapping

    from demeanor.core.values.exchange import Response
    from demeanor.core.values.fault import Fault
    from demeanor.gateway.models.upstream import ModelCall
    from demeanor.gateway.server.exchange_recorder import ExchangeRecorder

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
