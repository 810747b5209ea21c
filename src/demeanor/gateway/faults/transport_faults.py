"""Faults in how an answer is sent: the bytes of the agent's dialect, late, cut, spoiled or under a wrong name."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from aiohttp import web

from demeanor.core.exchange import ProviderError
from demeanor.core.fault import DONE, FaultKind
from demeanor.gateway.server.respond import told

if TYPE_CHECKING:
    from collections.abc import Mapping

    from demeanor.core.exchange import Response
    from demeanor.core.fault import Fault
    from demeanor.gateway.models.upstream import Ask
    from demeanor.gateway.server.exchange_recorder import ExchangeRecorder

_DELAY = 0.5
_WRONG_TYPE = "text/html"
_DROPS = 10
"""Pieces in which an answer drips that is not streamed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransportFault:
    """An answer as it would be sent if nothing were wrong."""

    pieces: tuple[bytes, ...]
    """The body: the events of a stream, or all of it."""

    headers: Mapping[str, str]
    """The head."""

    streamed: bool
    """Whether the pieces are told one by one."""


async def tell_badly(
    fault: Fault, response: Response, ask: Ask, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Send the answer with the fault in it, and record what the agent can know of it."""
    telling = _telling(response, ask)
    if fault.kind is FaultKind.DRIP:
        return await _drip(fault, telling, response, recording, request)
    if fault.kind is FaultKind.CONTENT_TYPE:
        recording.answered(response)
        head = {**telling.headers, "Content-Type": fault.content_type or _WRONG_TYPE}
        return await _send(telling.pieces, head, recording, request)
    if fault.kind is FaultKind.MALFORMED:
        return await _spoil(fault, telling, response, recording, request)
    recording.failed(_error(fault, "cut"))
    middle = len(telling.pieces) // 2
    before, piece = telling.pieces[:middle], telling.pieces[middle]
    recording.heard(ask.dialect.stream_reader().feed(b"".join(before)))
    if fault.kind is FaultKind.TRUNCATED and telling.streamed:
        return await _send((*before, _broken(piece)), telling.headers, recording, request)
    half = piece[: len(piece) // 2]
    if fault.kind is FaultKind.TRUNCATED:
        return await _send((half,), telling.headers, recording, request)
    return await _cut((*before, half), telling, recording, request)


def _telling(response: Response, ask: Ask) -> TransportFault:
    if not ask.request.stream:
        wire = ask.dialect.write_response(response, ask.request)
        headers = {**wire.headers, "Content-Type": wire.content_type}
        return TransportFault(pieces=(wire.body,), headers=headers, streamed=False)
    writer = ask.dialect.stream_writer(ask.request)
    pieces = [*(writer.write(delta) for delta in told(response)), writer.close()]
    headers = {"Content-Type": writer.content_type, "Cache-Control": "no-cache"}
    return TransportFault(pieces=tuple(piece for piece in pieces if piece), headers=headers, streamed=True)


async def _drip(
    fault: Fault, telling: TransportFault, response: Response, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Whoever does not wait for the end had a provider that stalled."""
    recording.error = _error(fault, "stalled")
    pieces = telling.pieces if telling.streamed else _drops(telling.pieces[0])
    answer = await _send(pieces, telling.headers, recording, request, delay=fault.delay or _DELAY)
    recording.answered(response)
    recording.error = None
    return answer


async def _spoil(
    fault: Fault, telling: TransportFault, response: Response, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """A stream holds all events and a broken one, which an agent may skip; a spoiled body can't be read by anybody."""
    if not telling.streamed:
        recording.failed(_error(fault, "server"))
        return await _send((b"{" + telling.pieces[0],), telling.headers, recording, request)
    recording.answered(response)
    middle = len(telling.pieces) // 2
    pieces = (*telling.pieces[:middle], _broken(telling.pieces[middle]), *telling.pieces[middle:])
    return await _send(pieces, telling.headers, recording, request)


async def _cut(
    begun: tuple[bytes, ...], telling: TransportFault, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """The head promises the whole answer; the connection ends before it is there."""
    head = dict(telling.headers)
    if not telling.streamed:
        head["Content-Length"] = str(len(telling.pieces[0]))
    answer = web.StreamResponse(headers=head)
    await answer.prepare(request)
    for piece in begun:
        recording.answering()
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
        recording.answering()
        await answer.write(piece)
    await answer.write_eof()
    return answer


def _broken(piece: bytes) -> bytes:
    """The last event of a piece, under its own name, its data cut short, but properly ended."""
    end = b"\n\n" if piece.endswith(b"\n\n") else b""
    event = piece.removesuffix(end).rpartition(b"\n\n")[2]
    field, found, data = event.rpartition(b"data: ")
    return field + found + data[: len(data) // 2] + end


def _drops(body: bytes) -> tuple[bytes, ...]:
    size = -(-len(body) // _DROPS)
    return tuple(body[start : start + size] for start in range(0, len(body), size))


def _error(fault: Fault, reason: str) -> ProviderError:
    message = f"injected fault {fault}: {DONE[fault.kind]}"
    return ProviderError(status=200, reason=reason, message=message)  # type: ignore[arg-type]
