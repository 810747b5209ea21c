"""The connection from an agent in a task's environment to its model, with the real gateway at its end."""

from __future__ import annotations

import asyncio
import json
import socket
import urllib.request
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from demeanor.core.values.errors import WorldError
from demeanor.gateway.script import scripted
from demeanor.gateway.server.http_server import GatewayServer
from demeanor.plugins.harbor.environments.choice import EnvironmentChoice
from demeanor.plugins.harbor.rules import HarborRules
from demeanor.plugins.harbor.trials.agents import AGENTS, TaskAgentSpec
from demeanor.plugins.harbor.trials.model_route import UNSEEN, ModelRoute, open_route
from tests.helpers.harbor_tasks import greet, trial_of


def ask(url: str, token: str) -> int:
    """Ask a model for something; the status of its answer."""
    body = json.dumps({"model": "scripted", "messages": [{"role": "user", "content": "hi"}]}).encode()
    request = urllib.request.Request(  # noqa: S310 - our own address
        f"{url}/v1/chat/completions", body, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=120) as answer:  # noqa: S310 - our own address
        return int(answer.status)


def on_route(
    folder: Path,
    body: Callable[[ModelRoute], Awaitable[Any]],
    *,
    place: str,
    spec: TaskAgentSpec = AGENTS["native"],
    subject: str = "native:scripted",
    rules: HarborRules | None = None,
) -> Any:
    """What `body` gives, called with the wire of an attempt."""

    async def play() -> Any:
        gateway = GatewayServer({"scripted": scripted()})
        await gateway.start()
        context: Any = SimpleNamespace(
            rules=rules or HarborRules(),
            environment=EnvironmentChoice(name=place),
            gateway=gateway,
            installed=lambda subject: {},
        )
        session: Any = SimpleNamespace(workspace=folder, home=folder)
        try:
            async with open_route(trial_of(greet(folder / "greet"), subject), spec, context, session, seed=7) as route:
                return await body(route)
        finally:
            await gateway.stop()

    return asyncio.run(play())


def test_into_our_own_environment_the_gateway_is_handed(tmp_path: Path):
    """The listener in the sandbox is served; its address is known in advance."""

    async def body(route: ModelRoute) -> int:
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(120)
            connection.connect(str(tmp_path / str(route.options["gateway"])))
            socket.send_fds(connection, [b"!"], [listener.fileno()])
            await asyncio.to_thread(connection.recv, 1)
            here = route.url.replace(f":{route.options['port']}/", f":{listener.getsockname()[1]}/")
            status = await asyncio.to_thread(ask, here, route.facts["token"])
        assert len(route.exchanges) == 1
        return status

    assert on_route(tmp_path, body, place="bubblewrap") == 200


def test_elsewhere_this_machine_is_reached_by_its_name(tmp_path: Path):
    """On a port of the attempt's own, with its token."""

    async def body(route: ModelRoute) -> int:
        assert route.url.startswith("http://localhost:")
        return await asyncio.to_thread(ask, route.url, route.facts["token"])

    assert on_route(tmp_path, body, place="docker", rules=HarborRules(gateway_host="localhost")) == 200


def test_past_the_gateway_only_where_that_is_allowed(tmp_path: Path):
    """And then it is noted."""

    async def body(route: ModelRoute) -> tuple[object, ...]:
        return route.url, route.direct, route.session, route.notes

    with pytest.raises(WorldError, match="gateway_host"):
        on_route(tmp_path, body, place="daytona")
    allowed = HarborRules(direct=True)
    assert on_route(tmp_path, body, place="daytona", rules=allowed) == ("", True, None, (UNSEEN,))


def test_without_a_model_there_is_no_wire(tmp_path: Path):
    """Nothing is asked of the gateway."""

    async def body(route: ModelRoute) -> ModelRoute:
        return route

    assert on_route(tmp_path, body, place="daytona", spec=AGENTS["oracle"], subject="oracle") == ModelRoute()


def test_an_agent_in_harbors_own_process_gets_the_gateways_own_address(tmp_path: Path):
    """It runs on this machine."""

    async def body(route: ModelRoute) -> int:
        return await asyncio.to_thread(ask, route.url, route.facts["token"])

    assert on_route(tmp_path, body, place="daytona", spec=AGENTS["terminus-2"]) == 200
