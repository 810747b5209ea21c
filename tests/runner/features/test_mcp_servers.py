"""What is checked about an eval's MCP servers before anything runs."""

from __future__ import annotations

import pytest

from demeanor.core.values.errors import BadInput
from demeanor.core.values.mcp_fixture import Fixture, FixtureTool, HttpServer, McpServer
from demeanor.core.values.sandbox_spec import Network
from demeanor.core.values.scenario import Scenario
from demeanor.runner.features.mcp_servers import McpServers
from tests.runner.test_plan import an_eval

FIXTURE = {"find": FixtureTool(replies="none")}
SERVERS: list[McpServer] = [Fixture(FIXTURE, transport="http"), HttpServer(("db", "{port}"))]


def check(server: McpServer, level: str, *, network: Network = "gateway", own: Network | None = None) -> None:
    scenario = Scenario(prompts=("do it",), mcp={"db": server}, network=own)
    McpServers().check_sandbox([an_eval("a", scenario=scenario)], level, network)


@pytest.mark.parametrize("server", SERVERS)
def test_a_sandbox_whose_programs_can_not_listen_is_refused(server: McpServer):
    """With the remedy; in the network of this machine they can."""
    with pytest.raises(
        BadInput, match="db is served over HTTP, but programs in the sandbox landlock can't listen"
    ) as one:
        check(server, "landlock")
    assert "--sandbox bubblewrap" in str(one.value)
    check(server, "landlock", network="host")
    check(server, "landlock", own="host")


@pytest.mark.parametrize("level", ["bubblewrap", "podman", "docker", "none"])
def test_others_are_accepted(level: str):
    for server in SERVERS:
        check(server, level)
    check(Fixture(FIXTURE), "landlock")
