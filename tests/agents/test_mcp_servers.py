"""MCP servers of the configuration and of an eval, in the form that each agent reads."""

from __future__ import annotations

from typing import Any

import pytest

from demeanor.agents.registry import CODING_AGENTS, adapter
from demeanor.core.values.errors import BadInput
from tests.agents.helpers import agent, task

WITH_MCP = [name for name in CODING_AGENTS if adapter(name).RECIPE.mcp]


@pytest.mark.parametrize("name", WITH_MCP)
def test_servers_reach_an_agent(name: str):
    """In a file or in its arguments, with placeholders filled in; those of the eval are added."""
    found = agent(name, mcp_servers={"first": ["python3", "{workspace}/one.py"]})
    orders = found.orders(task("Do it.", params={"mcp_servers": {"second": ["node", "two.js", "{home}"]}}))
    given = "\n".join((*orders.launches[-1].argv, *(text.decode() for text in orders.home_files.values())))
    for word in ("first", "python3", "/bench/workspace/one.py", "second", "two.js", "/bench/home"):
        assert word in given
    assert "{workspace}" not in given


@pytest.mark.parametrize("name", WITH_MCP)
def test_an_address_reaches_an_agent(name: str):
    """Instead of a command, in the configuration and in an eval."""
    found = agent(name, mcp_servers={"first": "http://127.0.0.1:1/mcp"})
    orders = found.orders(task("Do it.", params={"mcp_servers": {"second": "http://127.0.0.1:2/mcp"}}))
    given = "\n".join((*orders.launches[-1].argv, *(text.decode() for text in orders.home_files.values())))
    assert "http://127.0.0.1:1/mcp" in given
    assert "http://127.0.0.1:2/mcp" in given


@pytest.mark.parametrize("name", sorted({*CODING_AGENTS} - {*WITH_MCP}))
def test_an_agent_without_mcp_refuses_servers(name: str):
    """As an unknown key, in the configuration and in an eval."""
    with pytest.raises(BadInput, match="mcp_servers: unknown key"):
        agent(name, mcp_servers={"db": ["x"]})
    assert "mcp_servers" not in (agent(name).params or ())


@pytest.mark.parametrize(
    ("servers", "message"),
    [
        ({"a b": ["x"]}, r"mcp_servers.a b: is not a name"),
        (
            {"db": "python3 db.py"},
            r"mcp_servers.db: expected a list of strings, found 'python3 db.py'\n  → write the comm",
        ),
        ({"db": "http://{host}/mcp"}, r"mcp_servers.db: expected a list of strings"),
        ({"db": []}, r"mcp_servers.db: expected a list of strings"),
        ({"db": [1]}, r"mcp_servers.db: expected a list of strings"),
        ({"db": ["{worksp}"]}, r"mcp_servers.db: unknown placeholder {worksp}"),
    ],
)
def test_mistakes_are_reported_with_file_key_and_remedy(servers: Any, message: str):
    """Before anything runs."""
    with pytest.raises(BadInput, match=r"demeanor.toml: " + message):
        agent("goose", mcp_servers=servers)
