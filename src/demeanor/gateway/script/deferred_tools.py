"""Tools that an agent offers only after a search for them. Claude Code and Qwen Code do so with MCP tools.

Claude Code offers a tool from the next request on. Qwen Code has another tool, `tool_call`, that calls what was found.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import ToolCall, ToolResult
from demeanor.core.values.trajectory import deferred_call

_SEARCHES = ("toolsearch", "tool_search")
_BRIDGE = "tool_call"


def named_call(
    request: Request, results: Sequence[ToolResult], name: str, arguments: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    """The next call, as its tool and arguments, to use the tool whose name ends with `name`; raises LookupError.

    The tool of an MCP server may be named `SERVER.TOOL`, whatever the agent puts between the two, and also if the agent
    offers it by its bare name.
    """
    offered = [tool.name for tool in request.tools]
    if tool_name := next((tool for tool in offered if _is_named(tool, name)), None):
        return tool_name, arguments
    listed = [match for result in results for match in re.findall(r'"name":\s*"([^"]+)"', result.text)]
    tool_name = next((tool for tool in listed if _is_named(tool, name)), None)
    if tool_name and _BRIDGE in offered:
        return _BRIDGE, {"name": tool_name, "arguments": dict(arguments)}
    search = next((tool for tool in offered if tool.lower() in _SEARCHES), None)
    if search is None or any(call.name == search for call in _calls(request)):
        if _bare(name) in offered:
            return _bare(name), arguments
        raise LookupError(f"no tool on offer is named {name!r}; on offer: {', '.join(offered) or 'none'}")
    return search, {"query": name.replace(".", " ")}


def calls_named(request: Request, name: str) -> set[str]:
    """The ids of the calls of the tool whose name ends with `name`."""
    called = {call.id: deferred_call(call.name, call.arguments or {})[0] for call in _calls(request)}
    named = {call for call, tool in called.items() if _is_named(tool, name)}
    return named or {call for call, tool in called.items() if tool == _bare(name)}


def _bare(name: str) -> str:
    """The name of a tool without its server's."""
    return name.rpartition(".")[2]


def _is_named(tool: str, name: str) -> bool:
    parts = map(re.escape, name.split("."))
    return re.search(r"[^A-Za-z0-9]+".join(parts) + "$", tool) is not None


def _calls(request: Request) -> list[ToolCall]:
    return [part for message in request.messages for part in message.parts if isinstance(part, ToolCall)]
