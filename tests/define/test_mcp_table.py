"""`mcp` of an eval, in Python and in scenario.toml."""

from __future__ import annotations

from typing import Any

import pytest

from demeanor.config.table import Table
from demeanor.core.errors import BadInput
from demeanor.core.mcp_fixture import Fixture, FixtureTool, Reply
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


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ({"a b": ["x"]}, "letters, digits"),
        ({"db": []}, "expected an MCP server"),
        ({"db": {}}, "either command or tools"),
        ({"db": {"tool": {}}}, "tools"),
        ({"db": {"tools": {"find": {"replies": [{"txt": "x"}]}}}}, "text"),
        ({"db": {"tools": {"find": {"replies": []}}}}, "has no replies"),
    ],
)
def test_a_wrong_value_is_refused(value: Any, problem: str):
    """With the key and the remedy."""
    with pytest.raises(BadInput, match=problem):
        read(value)
