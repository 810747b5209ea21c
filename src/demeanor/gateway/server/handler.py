"""One request of an agent, from its head to its answer."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from aiohttp import web

from demeanor.core.exchange import ProviderError, Request
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.redaction.values import redacted
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.faults import inject
from demeanor.gateway.models.prices import FREE
from demeanor.gateway.models.upstream import Ask, ProviderRefused
from demeanor.gateway.server.exchange_recorder import ExchangeRecorder
from demeanor.gateway.server.respond import deliver, plain
from demeanor.gateway.server.routing import match, onward, split_prefix

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from demeanor.gateway.dialects.dialect import Dialect
    from demeanor.gateway.models.upstream import Upstream
    from demeanor.gateway.server.routing import Match
    from demeanor.gateway.server.session import Session

LARGEST_BODY = 64 * 2**20
"""Bytes of a request that are read; more is refused."""

Reason: TypeAlias = Literal["auth", "bad_request", "budget", "server"]

_HUNG_UP = 499
"""Told to nobody: the agent is gone."""

_MOST_SHOWN = 2000
"""Bytes of an unreadable request that are kept."""


def polite(request: web.BaseRequest) -> web.Response:
    """An answer to a sign-of-life probe, or to a question that no dialect knows."""
    if request.method in {"GET", "HEAD", "OPTIONS"}:
        return web.json_response({"status": "ok"})
    problem = f"the gateway does not know {request.method} {request.path}"
    return web.json_response({"error": {"message": problem, "type": "not_found"}}, status=404)


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestHandler:
    """Serves the requests of sessions."""

    dialects: Sequence[Dialect]
    """The dialects that are understood; where two know a path, the first one is preferred."""

    resolve: Callable[[str], Upstream | None]
    """Who answers for a model."""

    names: Callable[[], Iterable[str]]
    """The models by name, as far as they can be listed."""

    async def serve(self, request: web.BaseRequest, session: Session, path: str) -> web.StreamResponse:
        """Answer one request; `path` is what stands below the session's prefix."""
        started = time.monotonic()
        headers = {name.lower(): value for name, value in request.headers.items()}
        found = match(self.dialects, request.method, path, query=request.query, headers=headers, token=session.token)
        if found is None or found.route.wish == "probe":
            return polite(request)
        if not found.admitted:
            session.note("a request without the session's token was refused")
            return plain(found.dialect.write_error(_failure(401, "auth", "this is not the token of this session")))
        if found.route.wish == "models":
            known = dict.fromkeys([*self.names(), session.trial.subject.model])
            return plain(found.dialect.write_models(name for name in known if name))
        ask, problem = await _read(request, session, found, headers)
        if found.route.wish == "count_tokens":
            aside = ExchangeRecorder(number=0, dialect=found.dialect.name, request=ask.request, started=0.0, origin=0.0)
            return await self._answer(request, session, ask, problem, aside)
        with session.recording(found.dialect.name, ask.request, started=started, size=len(ask.body)) as recording:
            return await self._answer(request, session, ask, problem, recording)

    async def _answer(
        self,
        request: web.BaseRequest,
        session: Session,
        ask: Ask,
        problem: ProviderError | None,
        recording: ExchangeRecorder,
    ) -> web.StreamResponse:
        """Give the ask to its upstream, unless there is a problem with it, and deliver the reply."""
        upstream = None if problem else self._upstream(session, ask.request.model)
        if upstream is None:
            return await deliver(ProviderRefused(error=problem or _unknown(ask)), ask, recording, request)
        if spent := session.purse.empty(free=upstream.price == FREE):
            return await deliver(ProviderRefused(error=_failure(402, "budget", spent)), ask, recording, request)
        session.note(*upstream.notes)
        recording.price = upstream.price if self.resolve(ask.request.model) or upstream.price == FREE else None
        if upstream.secret and upstream.secret.encode() in ask.body:
            recording.request = redacted(
                recording.request, Redactor({"provider-key": upstream.secret}, vendors=False, digits=False)
            )
        recording.owed = True
        fault = session.fault(recording.number)
        try:
            if fault is not None:
                return await inject(fault, upstream, ask, recording, request)
            async with upstream.answer(ask) as reply:
                return await deliver(reply, ask, recording, request)
        except ConnectionError:
            return web.Response(status=_HUNG_UP)
        except Exception as error:
            failure = _failure(500, "server", f"the gateway failed: {type(error).__name__}: {error}")
            recording.failed(failure)
            if request.writer.output_size:
                raise
            return plain(ask.dialect.write_error(failure))

    def _upstream(self, session: Session, model: str) -> Upstream | None:
        """Who answers: the model's own upstream, or for a name that nobody knows, the one of the trial's subject."""
        own = self.resolve(model)
        if own is not None:
            return own
        instead = session.trial.subject.model
        stand_in = self.resolve(instead)
        if stand_in is not None:
            session.note(
                f"the agent asked for the model {model!r}, which is not configured; {instead!r} was asked instead"
            )
        return stand_in


async def _read(
    request: web.BaseRequest, session: Session, found: Match, headers: dict[str, str]
) -> tuple[Ask, ProviderError | None]:
    """What is asked, and what is wrong with it, if anything."""
    body, asked, problem = b"", Request(model=found.route.model or "", messages=()), None
    try:
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        body = await request.read()
        session.touch()
        asked = found.dialect.read_request(body, found.route)
    except web.HTTPRequestEntityTooLarge:
        problem = _failure(413, "bad_request", f"the request is larger than {LARGEST_BODY} bytes")
    except Malformed as error:
        problem = _failure(400, "bad_request", f"the request can't be read: {error}")
        asked = _unreadable(asked, body)
    except Exception as error:  # noqa: BLE001 - a dialect that fails is a failed exchange, not a dead server
        problem = _failure(500, "server", f"the gateway failed: {type(error).__name__}: {error}")
        asked = _unreadable(asked, body)
    url = request.rel_url
    ask = Ask(
        request=asked,
        dialect=found.dialect,
        route=found.route,
        body=body,
        path=onward(split_prefix(url.raw_path)[1], url.raw_query_string, session.token),
        headers=headers,
        trial=session.trial.id,
        seed=session.seed,
        facts=session.facts,
        memory=session.memory,
    )
    return ask, problem


def _unreadable(asked: Request, body: bytes) -> Request:
    shown = body[:_MOST_SHOWN].decode("utf-8", "backslashreplace")
    return Request(model=asked.model, messages=(), extra={"unreadable": shown})


def _failure(status: int, reason: Reason, message: str) -> ProviderError:
    return ProviderError(status=status, reason=reason, message=message)


def _unknown(ask: Ask) -> ProviderError:
    return _failure(404, "bad_request", f"no model {ask.request.model!r} is configured")
