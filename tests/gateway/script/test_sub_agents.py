"""Starting a sub-agent with the tools that agents offer for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Text, Tool, ToolCall, ToolResult
from demeanor.gateway.script import Turn, Unable
from tests.gateway.helpers import a_tool

TASK = "Review parser.py."
FLAG = {"type": "boolean"}
OTHERS = (a_tool("read_file", "path"), a_tool("send_agent", "message"), a_tool("update_task", "task"))
SPAWN = "multi_agent_v1__spawn_agent"
CODEX = (
    a_tool("multi_agent_v1__close_agent", "target"),
    a_tool(SPAWN, message={"type": "string"}, agent_type={"type": "string"}),
    a_tool("multi_agent_v1__wait_agent", "targets", targets={"type": "array", "items": {"type": "string"}}),
)


def turn_of(*tools: Tool, system: str = "", made: tuple[tuple[str, str], ...] = ()) -> Turn:
    """A turn with these tools, after these calls (tool, result)."""
    messages = [Message(role="system", parts=(Text(text=system),)), Message(role="user", parts=(Text(text="Go."),))]
    for number, (name, result) in enumerate(made):
        call = ToolCall(id=f"c{number}", name=name, arguments={})
        messages.append(Message(role="assistant", parts=(call,)))
        messages.append(Message(role="user", parts=(ToolResult(call_id=call.id, parts=(Text(text=result),)),)))
    return Turn(Request(model="m", messages=tuple(messages), tools=tools), seed=1)


@pytest.mark.parametrize(
    ("tool", "system", "arguments"),
    [
        (a_tool("Agent", "description", "prompt", run_in_background=FLAG), "", {"run_in_background": False}),
        (a_tool("task", "prompt", "subagent_type"), "- general: for all", {"subagent_type": "general"}),
        (a_tool("invoke_agent", "agent_name", "prompt"), "<name>generalist</name>", {"agent_name": "generalist"}),
        (a_tool("agent", "prompt", "agent", agent={"enum": ["explore", "general"]}), "", {"agent": "general"}),
        (a_tool("task", "prompt", "agent_type", agent_type={"enum": ["explore"]}), "", {"agent_type": "explore"}),
    ],
)
def test_a_task_goes_to_the_tool_that_starts_sub_agents(tool: Tool, system: str, arguments: dict[str, Any]):
    """With the sub-agent that has no speciality, in the foreground."""
    call = turn_of(*OTHERS, tool, system=system).delegate(TASK)
    assert call is not None
    assert call.name == tool.name
    assert call.arguments is not None
    assert call.arguments["prompt"] == TASK
    assert call.arguments.items() >= arguments.items()
    assert call.arguments.keys() >= set(tool.schema["required"])


def test_nothing_more_is_called_once_the_result_is_there():
    """So that a script reads: `return turn.delegate(task) or "Done."`."""
    task = a_tool("task", "prompt")
    assert turn_of(task, made=(("read_file", "x"),)).delegate(TASK) is not None
    assert turn_of(task, made=(("read_file", "x"), ("task", "Found."))).delegate(TASK) is None


def test_a_sub_agent_in_the_background_is_waited_for():
    """Codex returns an id, and offers another tool that waits."""
    started = (SPAWN, '{"agent_id":"019a","nickname":"Ada"}')
    first = turn_of(*CODEX).delegate(TASK)
    second = turn_of(*CODEX, made=(started,)).delegate(TASK)
    assert first == replace(first, name=SPAWN, arguments={"message": TASK})  # type: ignore[type-var]
    assert second is not None
    assert (second.name, second.arguments) == ("multi_agent_v1__wait_agent", {"targets": ["019a"]})
    assert turn_of(*CODEX, made=(started, ("multi_agent_v1__wait_agent", "Found."))).delegate(TASK) is None


def test_an_agent_without_sub_agents_can_not_delegate():
    """Also if it has tools that manage something else."""
    with pytest.raises(Unable, match="no tool on offer starts a sub-agent"):
        turn_of(*OTHERS).delegate(TASK)
