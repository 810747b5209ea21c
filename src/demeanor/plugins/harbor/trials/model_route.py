"""The route from an agent in a task's environment to its model: through the gateway, or direct if that is allowed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from demeanor.core.values.errors import WorldError
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.ports import GatewaySession, SandboxSession
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import VoidCause
from demeanor.core.values.whole_task import WholeTask
from demeanor.plugins.harbor.environments.choice import PORT, EnvironmentChoice
from demeanor.plugins.harbor.format.task import HarborTask
from demeanor.plugins.harbor.rules import HarborRules
from demeanor.plugins.harbor.trials.agents import WITHOUT_MODEL, TaskAgentSpec
from demeanor.plugins.harbor.trials.context import TaskContext

UNSEEN = "the agent connected directly to its provider: the gateway did not see its requests"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRoute:
    """How an attempt's agent reaches its model."""

    url: str = ""
    """The base URL that it gets; empty for none."""

    session: GatewaySession | None = None
    """The gateway session; None without a gateway."""

    options: Mapping[str, str | int] = field(default_factory=dict)
    """Options for the environment."""

    direct: bool = False
    """Whether the agent connects directly to its provider."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """Facts for the capture."""

    warnings: tuple[str, ...] = ()
    """Messages for the user about the route."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Messages for the user about the route and the model."""
        return (*self.warnings, *(self.session.notes if self.session else ()))

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """The exchanges that the gateway saw."""
        return self.session.exchanges() if self.session else ()


@asynccontextmanager
async def open_route(
    trial: Trial, spec: TaskAgentSpec, context: TaskContext, sandbox: SandboxSession, seed: int
) -> AsyncIterator[ModelRoute]:
    """Open the route: into the bubblewrap environment, to an address of this machine, or direct if that is allowed."""
    if not trial.subject.model or spec.agent in WITHOUT_MODEL:
        yield ModelRoute()
        return
    if problem := unreachable(spec, context.rules, context.environment):
        if not context.rules.direct:
            raise WorldError(VoidCause.HARNESS, problem)
        yield ModelRoute(direct=True, warnings=(UNSEEN,))
        return
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(context.gateway.session(trial, seed=seed))
        own = urlsplit(session.base_url)
        options: dict[str, str | int] = {}
        if not spec.inside or _shares_network(context.environment, trial.eval.task):
            url = session.base_url
        elif context.environment.ours:
            await stack.enter_async_context(accept_listeners(session, sandbox.workspace))
            options = {"gateway": SOCKET_NAME, "port": PORT, **context.installed(trial.subject)}
            url = f"http://127.0.0.1:{PORT}{own.path}"
        else:
            sock = stack.enter_context(socket.create_server(("0.0.0.0", 0), backlog=128))  # noqa: S104 - serves one session, with a token
            await session.listen(sock)
            url = f"http://{context.rules.gateway_host}:{sock.getsockname()[1]}{own.path}"
        facts = {"base_url": url, "token": session.token, "seed": str(seed)}
        yield ModelRoute(url=url, session=session, options=options, facts=facts)


def _shares_network(environment: EnvironmentChoice, task: WholeTask | None) -> bool:
    """Whether the bubblewrap environment uses this machine's network, so that the gateway can be reached directly."""
    public = isinstance(task, HarborTask) and task.environment.network.mode == "public"
    return environment.ours and public and environment.kwargs.get("network") == "host"


def unreachable(spec: TaskAgentSpec, rules: HarborRules, environment: EnvironmentChoice) -> str | None:
    """Why this agent's requests can't go through the gateway; None if they can."""
    if not spec.reachable:
        return (
            f"Harbor's adapter {spec.agent} has no setting for a base URL, so it can't use the gateway;"
            " `harbor.direct = true` allows it to connect directly to its provider"
        )
    if spec.inside and not environment.ours and not rules.gateway_host:
        return (
            f"the gateway can't be reached from the environment {environment.name}: set `harbor.gateway_host` to the"
            " name of this machine, or allow agents to connect directly to their provider with `harbor.direct = true`"
        )
    return None


# Receives the listener of a task's environment, which the gateway session then serves.
#
# Harbor runs in its own process, and each bubblewrap environment has a private network. When the environment is up
# it connects to a unix socket of this attempt, sends one byte together with its listening socket, and waits for one
# byte. From then on, programs in the environment can connect to this attempt's gateway session, and to nothing
# else.

SOCKET_NAME = "gateway"
"""The name of the unix socket, relative to Harbor's working directory: its full path may be too long for a socket."""

READY = b"!"


@asynccontextmanager
async def accept_listeners(session: GatewaySession, folder: Path) -> AsyncIterator[None]:
    """Within this context, listening sockets that are sent to the unix socket in `folder` are served by the session."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    received: list[socket.socket] = []
    with server:
        try:
            _bind(server, folder)
            server.listen()
            server.setblocking(False)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"can't create a socket in {folder}: {error}") from None
        serving = asyncio.ensure_future(_serve(server, session, received))
        try:
            yield
        finally:
            serving.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await serving
            for sock in received:
                sock.close()


def _bind(server: socket.socket, folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        server.bind(f"/proc/self/fd/{handle}/{SOCKET_NAME}")
    finally:
        os.close(handle)


async def _serve(server: socket.socket, session: GatewaySession, received: list[socket.socket]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(server)
        with connection, contextlib.suppress(OSError):  # the environment has closed the connection
            await _readable(connection)
            _, fds, _, _ = socket.recv_fds(connection, 1, 1)
            for fd in fds:
                os.set_inheritable(fd, False)
                received.append(listener := socket.socket(fileno=fd))
                await session.listen(listener)
                await loop.sock_sendall(connection, READY)


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(connection, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(connection)
