"""Starts a sub-agent with whatever tool an agent offers for it: `Agent`, `task`, `invoke_agent`, `spawn_agent` …"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Text, Tool, ToolCall, ToolResult
from demeanor.core.values.trajectory import Kind
from demeanor.gateway.script.tools import tool_arguments

_STARTS = re.compile(r"(?:.*_)?(?:sub_?)?(?:agent|task)|delegate(?:_.*)?", re.I)
"""Names of tools that start a sub-agent; such a tool also takes a text with the task."""

_NO_START = re.compile(r"(?:resume|close|send|read|write|stop|list|wait|get|update|cancel)_.*", re.I)
"""Names of tools that manage sub-agents."""

_TASK = ("prompt", "message", "task", "instructions", "query")
"""Names of the argument with the task, the usual ones first."""

_WAITS = ("wait_agent", "wait_for_agent")
"""Tools that wait for sub-agents, for agents whose sub-agents run in the background."""

_GENERAL = ("generalist", "general-purpose", "general", "default", "coder")
"""Names of sub-agents without a speciality."""


def delegation(request: Request, results: Sequence[ToolResult], task: str) -> tuple[str, Mapping[str, Any]] | None:
    """The next tool and its arguments, to have a sub-agent do `task`; None if its result has arrived.

    Raises LookupError if no tool on offer starts a sub-agent.
    """
    start = next((tool for tool in request.tools if _task_argument(tool)), None)
    if start is None:
        raise LookupError("no tool on offer starts a sub-agent")
    names = _names_by_id(request)
    made = {names.get(result.call_id, ""): result for result in results}
    if start.name not in made:
        return start.name, _start_arguments(start, request, task)
    wait = next((tool for tool in request.tools if _own_name(tool) in _WAITS), None)
    if wait is None or wait.name in made:
        return None
    return wait.name, _wait_arguments(wait, made[start.name].text)


def _own_name(tool: Tool) -> str:
    """The name without its namespace: `spawn_agent` of `multi_agent_v1__spawn_agent`."""
    return tool.name.rpartition("__")[2].lower()


def _properties(tool: Tool) -> Mapping[str, Any]:
    properties = tool.schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _task_argument(tool: Tool) -> str | None:
    """The argument that takes the task; None if the tool does not start sub-agents."""
    name = _own_name(tool)
    if not _STARTS.fullmatch(name) or _NO_START.fullmatch(name):
        return None
    return next((own for own in _TASK if own in _properties(tool)), None)


def _start_arguments(tool: Tool, request: Request, task: str) -> dict[str, Any]:
    task_arguments = {_task_argument(tool) or "prompt": task}
    properties = _properties(tool)
    for name in tool.schema.get("required", ()):
        if re.search(r"agent", name) and name not in task_arguments:
            task_arguments[name] = _general_agent(tool, name, request)
    arguments = tool_arguments(tool, Kind.OTHER, task_arguments)
    return arguments | ({"run_in_background": False} if "run_in_background" in properties else {})


def _general_agent(tool: Tool, argument: str, request: Request) -> str:
    """The sub-agent without a speciality among those that the schema, the tool or the system prompt names."""
    schema = _properties(tool)[argument]
    choices = schema.get("enum") if isinstance(schema, Mapping) else None
    texts = [tool.description, json.dumps(choices or schema)]
    texts += [part.text for message in request.messages for part in message.parts if isinstance(part, Text)]
    text = "\n".join(texts)
    named = next((name for name in _GENERAL if re.search(rf"(?<![\w-]){name}(?![\w-])", text)), None)
    return named or (str(choices[0]) if choices else _GENERAL[0])


def _wait_arguments(tool: Tool, started: str) -> dict[str, Any]:
    """Wait for the sub-agent whose id is in the result of the tool that started it."""
    match = re.search(r'"(?:agent_)?id"\s*:\s*"([^"]+)"', started)
    name = next((name for name, schema in _properties(tool).items() if schema.get("type") == "array"), "targets")
    return tool_arguments(tool, Kind.OTHER, {name: match[1] if match else ""})


def _names_by_id(request: Request) -> dict[str, str]:
    return {part.id: part.name for message in request.messages for part in message.parts if isinstance(part, ToolCall)}
