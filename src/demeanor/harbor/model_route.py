"""The way from an agent in a task's environment to its model, past the gateway only where that is allowed."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from demeanor.config.harbor import HarborRules
from demeanor.core.errors import WorldError
from demeanor.core.exchange import Exchange
from demeanor.core.harbor_task import HarborTask
from demeanor.core.ports import GatewaySession, SandboxSession
from demeanor.core.trial import Trial
from demeanor.core.verdict import VoidCause
from demeanor.harbor.agents import WITHOUT_MODEL, TaskAgentSpec
from demeanor.harbor.context import TaskContext
from demeanor.harbor.environments import PORT, TaskPlace
from demeanor.harbor.socket_handoff import DOOR, handing_over

UNSEEN = "the agent went straight to its provider: the wire was not seen"


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRoute:
    """How an attempt's agent reaches its model."""

    url: str = ""
    """The address that it is told; empty where it is told none."""

    session: GatewaySession | None = None
    """Who serves it there; None where no gateway is asked."""

    options: Mapping[str, str | int] = field(default_factory=dict)
    """What the environment must know of it."""

    direct: bool = False
    """Whether the agent goes straight to its provider."""

    facts: Mapping[str, str] = field(default_factory=dict)
    """What the capture should tell of it."""

    said: tuple[str, ...] = ()
    """What a person should know of it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of it, and of the model that answers."""
        return (*self.said, *(self.session.notes if self.session else ()))

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """What went over it, as far as it was seen."""
        return self.session.exchanges() if self.session else ()


@asynccontextmanager
async def open_wire(
    trial: Trial, who: TaskAgentSpec, means: TaskContext, bench: SandboxSession, seed: int
) -> AsyncIterator[ModelRoute]:
    """The way to the model: into our own environment, to an address of this machine, or past us where it may be."""
    if not trial.subject.model or who.agent in WITHOUT_MODEL:
        yield ModelRoute()
        return
    if why_not := unreachable(who, means.rules, means.place):
        if not means.rules.direct:
            raise WorldError(VoidCause.HARNESS, why_not)
        yield ModelRoute(direct=True, said=(UNSEEN,))
        return
    async with AsyncExitStack() as stack:
        session = await stack.enter_async_context(means.gateway.session(trial, seed=seed))
        own = urlsplit(session.base_url)
        options: dict[str, str | int] = {}
        if not who.inside or _shares_network(means.place, trial.eval.task):
            url = session.base_url
        elif means.place.ours:
            await stack.enter_async_context(handing_over(session, bench.workspace))
            options = {"gateway": DOOR, "port": PORT, **means.installed(trial.subject)}
            url = f"http://127.0.0.1:{PORT}{own.path}"
        else:
            sock = stack.enter_context(socket.create_server(("0.0.0.0", 0), backlog=128))  # noqa: S104 - one session's own door, with a token
            await session.listen(sock)
            url = f"http://{means.rules.gateway_host}:{sock.getsockname()[1]}{own.path}"
        facts = {"base_url": url, "token": session.token, "seed": str(seed)}
        yield ModelRoute(url=url, session=session, options=options, facts=facts)


def _shares_network(place: TaskPlace, task: HarborTask | None) -> bool:
    """Whether an environment of ours is asked for the network of this machine, so that the gateway is there anyway."""
    public = task is not None and task.environment.network.mode == "public"
    return place.ours and public and place.kwargs.get("network") == "host"


def unreachable(who: TaskAgentSpec, rules: HarborRules, place: TaskPlace) -> str | None:
    """Why the gateway can't stand between this agent and its model; None where it can."""
    if not who.reachable:
        return (
            f"Harbor's adapter {who.agent} can't be told another address than its provider's;"
            " `harbor.direct = true` lets it go there unseen"
        )
    if who.inside and not place.ours and not rules.gateway_host:
        return (
            f"the gateway can't be reached from an environment of {place.name}: say by which name this machine is, with"
            " `harbor.gateway_host`, or let agents go straight to their provider with `harbor.direct = true`"
        )
    return None
