"""Scripted models use tools that an agent offers only after a search."""

from __future__ import annotations

import pytest

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Text, Tool, ToolCall, ToolResult
from demeanor.gateway.script.turn import Turn, Unable


def turn(tools: tuple[str, ...], *steps: tuple[ToolCall, str]) -> Turn:
    messages = [Message(role="user", parts=(Text(text="Look up heron."),))]
    for call, result in steps:
        messages += [
            Message(role="assistant", parts=(call,)),
            Message(role="user", parts=(ToolResult(call_id=call.id, parts=(Text(text=result),)),)),
        ]
    offered = tuple(Tool(name=name, description="", schema={}) for name in tools)
    return Turn(Request(model="m", messages=tuple(messages), tools=offered), seed=1)


def call(number: int, name: str, arguments: dict[str, object]) -> ToolCall:
    return ToolCall(id=str(number), name=name, arguments=arguments, raw="{}")


SEARCH = call(1, "tool_search", {"query": "lookup"})
FOUND = '<function>{"name": "mcp__words__lookup"}</function>'


def test_an_offered_tool_is_called_at_once() -> None:
    made = turn(("read", "words_lookup")).call_named("lookup", {"word": "x"})
    assert (made.name, made.arguments) == ("words_lookup", {"word": "x"})


def test_a_tool_that_is_not_offered_is_searched_for_once() -> None:
    made = turn(("ToolSearch",)).call_named("lookup", {"word": "x"})
    assert (made.name, made.arguments) == ("ToolSearch", {"query": "lookup"})
    with pytest.raises(Unable, match="no tool on offer is named 'lookup'; on offer: tool_search"):
        turn(("tool_search",), (SEARCH, "nothing")).call_named("lookup", {})


def test_a_found_tool_is_called_by_the_tool_for_that_and_its_results_are_counted() -> None:
    inner = {"name": "mcp__words__lookup", "arguments": {"word": "x"}}
    found = turn(("tool_search", "tool_call"), (SEARCH, FOUND))
    made = found.call_named("lookup", {"word": "x"})
    assert (made.name, made.arguments) == ("tool_call", inner)
    assert found.results_of("lookup") == ()
    after = turn(("tool_search", "tool_call"), (SEARCH, FOUND), (call(2, "tool_call", inner), "heron"))
    assert [result.text for result in after.results_of("lookup")] == ["heron"]


@pytest.mark.parametrize("offered", ["mcp__github__search", "mcp_github_search", "github-search", "github.search"])
def test_a_tool_of_a_server_is_named_with_its_server(offered: str) -> None:
    """As in checks: `search` alone is also the end of the name of the agent's own tool."""
    tools = ("grep_search", offered)
    assert turn(tools).call_named("search", {}).name == "grep_search"
    assert turn(tools).call_named("github.search", {}).name == offered
    called = turn(tools, (call(1, "grep_search", {}), "a"), (call(2, offered, {}), "b"))
    assert [result.text for result in called.results_of("github.search")] == ["b"]
    assert turn(("ToolSearch",)).call_named("github.search", {}).arguments == {"query": "github search"}


def test_a_tool_of_a_server_may_be_offered_by_its_bare_name() -> None:
    """With the name of its server it comes first, and a search for it."""
    assert turn(("read", "lookup")).call_named("words.lookup", {}).name == "lookup"
    assert turn(("lookup", "words_lookup")).call_named("words.lookup", {}).name == "words_lookup"
    assert turn(("lookup", "ToolSearch")).call_named("words.lookup", {}).name == "ToolSearch"
    after = turn(("lookup",), (call(1, "lookup", {"word": "x"}), "heron"))
    assert [result.text for result in after.results_of("words.lookup")] == ["heron"]
