"""Handles one request of an agent, from its headers to its response."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aiohttp import web

from demeanor.core.text.wording import count, one_line, shortened
from demeanor.core.values.exchange import ProviderError, Request
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.faults import inject
from demeanor.gateway.models.prices import FREE
from demeanor.gateway.models.upstream import ErrorReply, FullReply, ModelCall, estimated_tokens
from demeanor.gateway.server.budget import Charge, most
from demeanor.gateway.server.exchange_recorder import ExchangeRecorder
from demeanor.gateway.server.request_body import TooLarge
from demeanor.gateway.server.respond import deliver, to_http_response
from demeanor.gateway.server.routing import forward_path, match_route, split_prefix
from demeanor.gateway.server.sandbox_clients import answer_client

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from demeanor.core.values.exchange import ErrorReason
    from demeanor.gateway.dialects.dialect import Dialect
    from demeanor.gateway.models.upstream import Reply, Upstream
    from demeanor.gateway.server.routing import RouteMatch
    from demeanor.gateway.server.session import Session

_CLIENT_CLOSED_REQUEST = 499
"""The status of a response that is never sent, because the agent has disconnected."""

_MAX_UNREADABLE = 2000
"""Bytes of an unreadable request that are recorded."""


def default_response(request: web.BaseRequest) -> web.Response:
    """The response to a health check, or to a path that no dialect knows."""
    if request.method in {"GET", "HEAD", "OPTIONS"}:
        return web.json_response({"status": "ok"})
    problem = f"the gateway does not know {request.method} {request.path}"
    return web.json_response({"error": {"message": problem, "type": "not_found"}}, status=404)


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestHandler:
    """Handles the requests of sessions."""

    dialects: Sequence[Dialect]
    """The supported dialects; if several know a path, the first one is preferred."""

    resolve: Callable[[str], Upstream | None]
    """Finds the upstream for a model name."""

    configured: Callable[[str], bool]
    """Whether a name is that of a configured model, of this run or not."""

    async def serve(self, request: web.BaseRequest, session: Session, path: str) -> web.StreamResponse:
        """Handle one request; `path` is the path below the session's prefix."""
        started = time.monotonic()
        if (answered := await answer_client(request, session, path)) is not None:
            return answered
        headers = {name.lower(): value for name, value in request.headers.items()}
        session.search_leak("the headers of a request", *headers, *headers.values())
        session.search_leak("the path or the query of a request", request.raw_path)
        match = match_route(
            self.dialects, request.method, path, query=request.query, headers=headers, token=session.token
        )
        if match is None or match.route.operation == "probe":
            if match is None and request.method == "POST":
                session.note(f"the agent sent a request that the gateway does not know: POST {one_line(path)}")
            return default_response(request)
        if not match.authorized:
            session.note("a request without the session's token was refused")
            return to_http_response(
                match.dialect.write_error(_error(401, "auth", "this is not the token of this session"))
            )
        if match.route.operation == "models":
            return to_http_response(match.dialect.write_models(name for name in session.models if name))
        if session.is_over():
            return to_http_response(match.dialect.write_error(_too_many(session)))
        call, problem = await _read(request, session, match, headers)
        if match.route.operation == "count_tokens":
            session.search_leak("a request that counts tokens", call.body)
            unrecorded = ExchangeRecorder(
                number=0, dialect=match.dialect.name, request=call.request, started=0.0, origin=0.0
            )
            return await self._answer(request, session, call, problem, unrecorded)
        reply = session.prefix.answer(call) if session.prefix and not problem else None
        call, changed = (call, ()) if problem or reply else _intervene(session, call)
        with session.record(match.dialect.name, call.request, started=started, body=call.body) as recording:
            problem = _too_many(session) if session.is_over() else problem
            recording.interventions = changed
            if reply is not None:
                session.note(*_notes_of(reply))
                return await _replay(reply, call, recording, request)
            return await self._answer(request, session, call, problem, recording)

    async def _answer(
        self,
        request: web.BaseRequest,
        session: Session,
        call: ModelCall,
        problem: ProviderError | None,
        recording: ExchangeRecorder,
    ) -> web.StreamResponse:
        """Pass the call to its upstream, unless there is a problem with it, and deliver the reply."""
        upstream, refusal = (None, problem) if problem else self._upstream(session, session.alias(call.request.model))
        if upstream is None:
            return await deliver(ErrorReply(error=refusal or _unknown_model(call)), call, recording, request)
        free = upstream.price == FREE
        recording.price, recording.most = upstream.price, most(call.request, len(call.body), upstream.price)
        if call.route.operation == "count_tokens":
            recording.most = Charge(tokens=estimated_tokens(len(call.body)))  # providers count for nothing
        async with session.account.reserve(recording.most, free=free) as spent:
            if spent is not None:
                own = session.account.own_exhausted(free=free) is not None
                error = replace(_error(402, "budget", spent), own=own)
                return await deliver(ErrorReply(error=error), call, recording, request)
            session.note(*upstream.notes)
            if recording.price is None and session.account.has_usd_limit():
                return await deliver(ErrorReply(error=_unpriced(call)), call, recording, request)
            if flooded := session.flooded:
                return await deliver(ErrorReply(error=_error(502, "server", flooded)), call, recording, request)
            if call.route.operation == "count_tokens":
                session.charge_token_count(recording.most)
            return await self._send(request, session, upstream, call, recording)

    async def _send(
        self,
        request: web.BaseRequest,
        session: Session,
        upstream: Upstream,
        call: ModelCall,
        recording: ExchangeRecorder,
    ) -> web.StreamResponse:
        """Have an upstream answer a call, with the fault that is to be injected, and deliver the reply."""
        call = replace(call, queued=recording.set_queued, received=session.receiving())
        recording.awaiting_provider = True
        fault = session.fault(recording.number)
        try:
            if fault is not None:
                return await inject(fault, upstream, call, recording, request)
            async with upstream.answer(call) as reply:
                session.note(*_notes_of(reply))
                return await deliver(reply, call, recording, request)
        except ConnectionError:
            return web.Response(status=_CLIENT_CLOSED_REQUEST)
        except Exception as error:
            failure = _error(500, "server", f"the gateway failed: {type(error).__name__}: {error}")
            recording.set_error(failure)
            if request.writer.output_size:
                raise
            return to_http_response(call.dialect.write_error(failure))

    def _upstream(self, session: Session, model: str) -> tuple[Upstream | None, ProviderError | None]:
        """The upstream of a model that the session may use, or why it may not use it.

        Agents ask for side models under names of their own. A name that is not configured is answered by the trial's
        own model; a configured model of another subject would be billed to another key.
        """
        substitute = session.trial.subject.model
        own = self.resolve(substitute)
        upstream = self.resolve(model)
        if upstream is not None and (model in session.models or upstream is own):
            return upstream, None
        if upstream is not None or self.configured(model):
            remedy = f"allow it with also = [{json.dumps(model)}] in [agents.{session.trial.subject.agent}]"
            session.note(f"the agent requested the model {model!r}, which is not its own: refused ({remedy})")
            message = f"this session does not serve the model {model!r}: {remedy}"
            return None, replace(_error(403, "bad_request", message), own=True)
        if own is not None:
            session.note(
                f"the agent requested the model {model!r}, which is not configured; {substitute!r} was used instead"
            )
        return own, None


def _notes_of(reply: Reply) -> tuple[str, ...]:
    return reply.notes if isinstance(reply, FullReply) else ()


async def _replay(
    reply: Reply, call: ModelCall, recording: ExchangeRecorder, request: web.BaseRequest
) -> web.StreamResponse:
    """Deliver an answer from the trial's prefix, which costs nothing."""
    recording.replayed, recording.price = True, FREE
    try:
        return await deliver(reply, call, recording, request)
    except ConnectionError:
        return web.Response(status=_CLIENT_CLOSED_REQUEST)


async def _read(
    request: web.BaseRequest, session: Session, match: RouteMatch, headers: dict[str, str]
) -> tuple[ModelCall, ProviderError | None]:
    """Read the call, and what is wrong with it, if anything."""
    limits = session.limits
    body, asked, problem = b"", Request(model=match.route.model or "", messages=()), None
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    most = 0 if session.is_full else limits.request
    try:
        body, (asked, problem) = await session.bodies.read(request, lambda body: _parse(match, body), limit=most)
        session.touch()
    except TooLarge:
        larger = f"the request is larger than {limits.request} bytes (limits.request)"
        full = f"the requests of this trial have more than {limits.distinct} bytes of different content"
        session.note(f"a request was refused: {full if session.is_full else larger}")
        problem = _error(413, "bad_request", full if session.is_full else larger)
    url = request.rel_url
    call = ModelCall(
        request=asked,
        dialect=match.dialect,
        route=match.route,
        body=body,
        path=forward_path(split_prefix(url.raw_path)[1], url.raw_query_string, session.token),
        headers=headers,
        trial=session.trial.id,
        seed=session.seed,
        facts=session.facts,
        note=session.note,
        memory=session.memory,
    )
    return call, problem


def _intervene(session: Session, call: ModelCall) -> tuple[ModelCall, tuple[str, ...]]:
    """The call after the trial's intervention, and the ids of the instructions that it changed.

    The body is written anew only if something changed; otherwise the agent's own bytes are sent on.
    """
    request, changed = session.intervene(call.request)
    if not changed:
        return call, ()
    return replace(call, request=request, body=call.dialect.write_request(request).body), changed


def _parse(match: RouteMatch, body: bytes) -> tuple[Request, ProviderError | None]:
    """The request in a body, and what is wrong with it, if anything."""
    asked = Request(model=match.route.model or "", messages=())
    try:
        return match.dialect.read_request(body, match.route), None
    except Malformed as error:
        return _unreadable(asked, body), _error(400, "bad_request", f"the request can't be read: {error}")
    except Exception as error:  # noqa: BLE001 - a bug in a dialect fails the exchange, not the server
        problem = _error(500, "server", f"the gateway failed: {type(error).__name__}: {error}")
        return _unreadable(asked, body), problem


def _unreadable(asked: Request, body: bytes) -> Request:
    shown = shortened(body[: 2 * _MAX_UNREADABLE].decode("utf-8", "backslashreplace"), _MAX_UNREADABLE)
    return Request(model=asked.model, messages=(), extra={"unreadable": shown})


def _error(status: int, reason: ErrorReason, message: str) -> ProviderError:
    return ProviderError(status=status, reason=reason, message=message)


def _unpriced(call: ModelCall) -> ProviderError:
    message = f"the price of the model {one_line(call.request.model)!r} is unknown, so no budget in dollars allows it"
    return _error(402, "budget", message)


def _too_many(session: Session) -> ProviderError:
    message = f"this trial has made {count(session.limits.requests, 'request')}, the most that are answered"
    return replace(_error(403, "bad_request", message), own=True)


def _unknown_model(call: ModelCall) -> ProviderError:
    error = _error(404, "bad_request", f"no model {call.request.model!r} is configured")
    return replace(error, own=True)
