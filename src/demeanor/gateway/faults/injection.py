"""One exchange with a fault in it: broken before the model is asked, in what it answers, or in how that is sent."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import web

from demeanor.core.exchange import ProviderError
from demeanor.core.fault import DONE, FaultKind
from demeanor.gateway.dialects.refusal import STATUS, reason_of
from demeanor.gateway.faults.buffer import gather
from demeanor.gateway.faults.content_faults import change
from demeanor.gateway.faults.transport_faults import tell_badly
from demeanor.gateway.models.prices import cost
from demeanor.gateway.models.upstream import Answered, ProviderRefused
from demeanor.gateway.server.respond import deliver, plain

if TYPE_CHECKING:
    from demeanor.core.fault import Fault
    from demeanor.gateway.models.upstream import Ask, Upstream
    from demeanor.gateway.server.exchange_recorder import ExchangeRecorder

_CHANGES = (FaultKind.EMPTY, FaultKind.TOOL_ID)


async def inject(
    fault: Fault, upstream: Upstream, ask: Ask, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Serve the ask with this fault in the answer. A model that fails by itself is not broken any further."""
    if fault.kind.isdigit():
        return _refuse(fault, ask, recording)
    if fault.kind is FaultKind.REFUSED:
        return _hang_up(fault, recording, request)
    if fault.kind is FaultKind.HANG:
        return await _keep_waiting(fault, recording)
    async with upstream.answer(ask) as reply:
        found = await gather(reply, ask, recording)
        if isinstance(found, ProviderRefused):
            return await deliver(found, ask, recording, request)
        recording.cost_usd = cost(found.usage, recording.price)
        if fault.kind not in _CHANGES:
            recording.fault = str(fault)
            return await tell_badly(fault, found, ask, recording, request)
        changed = change(fault, found, seed=ask.seed)
        if changed != found:
            recording.fault = str(fault)
        return await deliver(Answered(response=changed), ask, recording, request)


def _refuse(fault: Fault, ask: Ask, recording: ExchangeRecorder) -> web.Response:
    """An error of the dialect instead of an answer."""
    status = int(fault.kind)
    error = ProviderError(status=status, reason=reason_of(status), message=f"injected fault {fault}")
    _unasked(fault, recording, error)
    seconds = 1 if fault.retry_after is None and fault.kind is FaultKind.RATE_LIMIT else fault.retry_after
    return plain(ask.dialect.write_error(error), {} if seconds is None else {"Retry-After": str(seconds)})


def _hang_up(fault: Fault, recording: ExchangeRecorder, request: web.BaseRequest) -> web.Response:
    """The end of the connection instead of an answer."""
    error = ProviderError(status=None, reason="unreachable", message=f"injected fault {fault}: {DONE[fault.kind]}")
    _unasked(fault, recording, error)
    if request.transport:
        request.transport.close()
    return web.Response(status=STATUS["unreachable"])


async def _keep_waiting(fault: Fault, recording: ExchangeRecorder) -> web.Response:
    """Nothing at all, until the agent hangs up or the trial ends: both cancel this."""
    error = ProviderError(status=None, reason="stalled", message=f"injected fault {fault}: {DONE[fault.kind]}")
    _unasked(fault, recording, error)
    recording.owed = True
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


def _unasked(fault: Fault, recording: ExchangeRecorder, error: ProviderError) -> None:
    """Nobody was asked, so nothing was spent."""
    recording.fault = str(fault)
    recording.cost_usd = 0.0
    recording.failed(error)
