"""`mcp` of an eval, in Python and in scenario.toml."""

from __future__ import annotations

from typing import Any

import pytest

from demeanor.config.table import Table
from demeanor.core.values.errors import BadInput
from demeanor.core.values.mcp_fixture import Fixture, FixtureTool, HttpServer, Reply, identity
from demeanor.define.mcp_table import read_mcp

TOOL = {"schema": {"q": "string"}, "replies": ["a", {"text": "b", "when": {"q": "x"}, "times": 1, "error": True}]}


def read(value: Any) -> Any:
    """The servers of a table with this value."""
    return read_mcp(Table({"mcp": value}, where="f"), "mcp")


def test_tables_and_python_mean_the_same():
    """A fixture, and a command in both forms."""
    fixture = Fixture(
        {
            "find": FixtureTool(
                schema={"q": "string"}, replies=(Reply("a"), Reply("b", when={"q": "x"}, times=1, error=True))
            )
        }
    )
    assert read({"db": {"tools": {"find": TOOL}}}) == read({"db": fixture}) == {"db": fixture}
    assert read({"db": {"command": ["x"]}}) == read({"db": ["x"]}) == {"db": ("x",)}


def test_a_server_over_http():
    """A fixture, and a program that is told its port; the transport is a part of what an eval is."""
    tools = {"find": {"replies": "a"}}
    by_http, by_stdio = read({"db": {"tools": tools, "transport": "http"}}), read({"db": {"tools": tools}})
    assert by_http == {"db": Fixture({"find": FixtureTool(replies=(Reply("a"),))}, transport="http")}
    assert identity(by_http) != identity(by_stdio) == repr(by_stdio)
    program = HttpServer(("x", "--port={port}"), path="/rpc")
    table = {"command": ["x", "--port={port}"], "transport": "http", "path": "/rpc"}
    assert read({"db": table}) == read({"db": program}) == {"db": program}
    assert HttpServer(["x", "{port}"]).path == "/mcp"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a b": ["x"]}, "letters, digits"),
        ({"db": []}, "expected an MCP server"),
        ({"db": {}}, "either command or tools"),
        ({"db": {"tool": {}}}, "did you mean 'tools'"),
        ({"db": {"tools": {"find": {"replies": [{"txt": "x"}]}}}}, "text"),
        ({"db": {"tools": {"find": {"replies": []}}}}, "has no replies"),
        ({"db": {"command": [], "transport": "stdio"}}, "mcp.db.command: is empty"),
        ({"db": {"command": ["x"], "transport": "http"}}, "mcp.db.command: its command has no {port}"),
        ({"db": {"command": ["x"], "transport": "tcp"}}, "mcp.db.transport"),
        ({"db": {"command": ["x"], "path": "/rpc"}}, "mcp.db.path: is only for a command over HTTP"),
        ({"db": {"command": ["x", "{port}"], "transport": "http", "path": "rpc"}}, "must begin with /"),
        ({"db": {"tools": {"find": {"replies": "a"}}, "command": ["x"]}}, "mcp.db: expected either command or tools"),
    ],
)
def test_a_wrong_value_is_refused(value: Any, problem: str):
    """With the key and the remedy."""
    with pytest.raises(BadInput, match=problem):
        read(value)
