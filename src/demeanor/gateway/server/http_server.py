"""The model server between agents and providers: one per run, with a URL and a token for each trial.

Every session has its own URL, so each request belongs to exactly one trial, and its own token, so no other program
can use the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from aiohttp import web

from demeanor.core.values.errors import UsageError
from demeanor.core.values.gateway_limits import GatewayLimits
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.server.budget import Budget, BudgetAccount, Budgets
from demeanor.gateway.server.handler import RequestHandler, default_response
from demeanor.gateway.server.listener import listen
from demeanor.gateway.server.metrics import MetricsCollector
from demeanor.gateway.server.request_body import LargeBodies
from demeanor.gateway.server.routing import split_prefix
from demeanor.gateway.server.session import Session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from pathlib import Path

    from demeanor.core.values.fault import Role
    from demeanor.core.values.trial import Trial
    from demeanor.gateway.cassette.prefix_replay import PrefixReplay
    from demeanor.gateway.dialects.dialect import Dialect
    from demeanor.gateway.models.upstream import Upstream
    from demeanor.gateway.server.metrics import Counters

Models: TypeAlias = "Mapping[str, Upstream] | Callable[[str], Upstream | None]"
"""Finds the upstream for a model name."""

_BACKLOG = 1024


class GatewayServer:
    """The gateway of one run; see `Gateway` in core/values/ports.py. It belongs to the event loop that starts it."""

    def __init__(
        self,
        models: Models,
        *,
        dialects: Sequence[Dialect] = tuple(DIALECTS.values()),
        budgets: Budgets | None = None,
        limits: GatewayLimits | None = None,
        configured: Callable[[str], bool] = lambda name: False,
        host: str = "127.0.0.1",
        port: int = 0,
        unix_path: Path | None = None,
        sock: socket.socket | None = None,
        parent_account: Callable[[Trial], BudgetAccount] | None = None,
        prefix_of: Callable[[Trial], PrefixReplay | None] = lambda trial: None,
    ) -> None:
        """Listens on `host` and `port`, on a Unix socket at `unix_path`, or on the given `sock`.

        `configured` tells whether a name is that of a model which other sessions may use. `parent_account` gives the
        account of a trial's eval and run, if other gateways spend the same budgets; `budgets` has that of the trial.
        `prefix_of` makes the replay of the prefix that a trial starts from.
        """
        self._prefix_of = prefix_of
        self._parent_account = parent_account or self.eval_account
        self._models = models
        self._budgets = budgets or Budgets()
        self._bind_address = (host, port)
        self._unix_path = unix_path
        self._sock = sock
        self._limits = limits or GatewayLimits()
        self._parsing = asyncio.Lock()
        self._handler = RequestHandler(dialects=dialects, resolve=self._resolve, configured=configured)
        self._metrics = MetricsCollector()
        self._run_account = BudgetAccount("the run", self._budgets.run)
        self._eval_accounts: dict[str, BudgetAccount] = {}
        self._sessions: dict[str, Session] = {}
        self._used_upstreams: dict[int, Upstream] = {}
        self._runner: web.ServerRunner | None = None
        self._address = ""

    @property
    def address(self) -> str:
        """The URL it listens on, as in `http://127.0.0.1:4711`; for a Unix socket the host name has no meaning."""
        return self._address

    async def start(self) -> None:
        """Start listening."""
        sock = self._sock or self._bind()
        self._runner = await listen(sock, self._handle, _SharedListener(self))
        self._address = _url(sock)

    async def stop(self) -> None:
        """Stop listening, cancel requests in progress, and release all resources."""
        for session in tuple(self._sessions.values()):
            await self._close(session)
        if self._runner:
            await self._runner.cleanup()
            self._runner = None
        if self._unix_path:
            self._unix_path.unlink(missing_ok=True)
        await asyncio.gather(*(upstream.close() for upstream in self._used_upstreams.values()))

    @asynccontextmanager
    async def session(
        self, trial: Trial, *, seed: int, role: Role = "agent", of: Trial | None = None
    ) -> AsyncIterator[Session]:
        """A session for one attempt at one trial, or for the judge or the user of the trial `of`.

        Only an agent spends the budget of the trial.
        """
        own = self._budgets.trial if role == "agent" else Budget()
        account = BudgetAccount("the trial", own, self._parent_account(of or trial))
        session = Session(
            trial,
            seed=seed,
            address=self._address,
            account=account,
            metrics=self._metrics,
            serve=self.listen,
            bodies=LargeBodies(self._parsing),
            limits=self._limits,
            role=role,
            prefix=self._prefix_of(trial) if role == "agent" else None,
        )
        if (model := self._resolve(trial.subject.model)) is not None:
            session.note(*model.notes)
        self._sessions[session.id] = session
        self._metrics.sessions += 1
        try:
            yield session
        finally:
            await self._close(session)

    def last_steps(self) -> Mapping[str, str]:
        """What the agents of running trials asked for last, by the id of the trial. Hostile text."""
        sessions = [session for session in self._sessions.values() if session.role == "agent"]
        return {session.trial.id: step for session in sessions if (step := session.last_step())}

    def eval_account(self, trial: Trial) -> BudgetAccount:
        """The budget of the trial's eval, whose parent is that of the run."""
        name = trial.eval.name
        own = BudgetAccount(f"the eval {name!r}", self._budgets.eval, self._run_account)
        return self._eval_accounts.setdefault(name, own)

    async def listen(self, sock: socket.socket, session: Session) -> None:
        """Serve a session on its own socket, which only its agent can reach.

        The socket must be bound and listening, and may belong to another network namespace. Closing the session stops
        it from listening; the caller that created the socket has to close it.
        """

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            return await self._handle(request, only=session)

        duplicate = sock.dup()  # the caller may close its socket at any time, and the number may then be reused
        runner = await listen(duplicate, handle, session)
        session.closing.callback(_stop_listening, sock)
        session.closing.push_async_callback(runner.cleanup)
        session.address = _url(sock)

    def counters(self) -> Counters:
        """The counters now."""
        return self._metrics.snapshot()

    def _bind(self) -> socket.socket:
        """A socket that listens on the address given to the constructor."""
        host, port = self._bind_address
        try:
            return (
                _bind_unix(self._unix_path) if self._unix_path else socket.create_server((host, port), backlog=_BACKLOG)
            )
        except OSError as error:
            where = self._unix_path or f"{host}:{port}"
            raise UsageError(f"the gateway can't listen on {where}: {error.strerror or error}") from None

    async def _close(self, session: Session) -> None:
        if self._sessions.pop(session.id, None):
            self._metrics.sessions -= 1
            await session.close()

    async def _handle(self, request: web.BaseRequest, *, only: Session | None = None) -> web.StreamResponse:
        name, path = split_prefix(request.path)
        session = self._sessions.get(name)
        if session is None or session.closed or session is not (only or session):
            return default_response(request) if request.path == "/" else _unknown_session()
        with session.track_request():
            return await self._handler.serve(request, session, path)

    def _resolve(self, name: str) -> Upstream | None:
        model = self._models.get(name) if isinstance(self._models, Mapping) else self._models(name)
        if model is not None:
            self._used_upstreams[id(model)] = model
        return model


class _SharedListener:
    """What is counted on the socket that all sessions share: it is not known whose connections these are."""

    def __init__(self, server: GatewayServer) -> None:
        self._server = server
        self.malformed = 0
        self.connections_refused = 0

    @property
    def most_connections(self) -> int:
        """As many as all sessions may have together."""
        return self._server._limits.connections * max(1, len(self._server._sessions))


def _unknown_session() -> web.Response:
    problem = "no session of this gateway has this URL; it may have ended"
    return web.json_response({"error": {"message": problem, "type": "authentication_error"}}, status=401)


def _stop_listening(sock: socket.socket) -> None:
    """Stop a socket from listening, even if other processes still hold it."""
    with contextlib.suppress(OSError):  # already closed
        sock.shutdown(socket.SHUT_RDWR)


def _bind_unix(path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(str(path))
        path.chmod(0o600)
        sock.listen(_BACKLOG)
    except OSError:
        sock.close()
        raise
    return sock


def _url(sock: socket.socket) -> str:
    if sock.family == socket.AF_UNIX:
        return "http://localhost"
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
