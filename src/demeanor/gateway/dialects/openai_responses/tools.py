"""Tools of the Responses dialect: functions, tools that take plain text, built-in tools, and namespaces of tools.

Other dialects have no namespaces. A tool in a namespace is therefore one tool whose name contains both names, such as
`multi_agent_v1__spawn_agent`; the original names are kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import groupby
from typing import Any

from demeanor.core.values.messages import Tool, ToolCall, full_tool_name
from demeanor.gateway.dialects.conversions import FREE_TEXT
from demeanor.gateway.dialects.json_reader import (
    Json,
    extra_fields,
    maybe_object,
    maybe_string,
    own_fields,
    read_each,
    read_unchanged,
    string,
)
from demeanor.gateway.dialects.openai_responses.content import NAME

NAMESPACE = f"{NAME}.namespace"
"""The key of `extra` with the fields of a tool's namespace, other than its tools."""

OWN_NAME = f"{NAME}.name"
"""The key of `extra` with the name that a tool has inside its namespace."""

_TOOL = frozenset({"type", "name", "description", "parameters"})


def read_tools(top: Json) -> tuple[Tool, ...]:
    """All tools of a request; each tool of a namespace is a tool of its own."""
    return tuple(tool for tools in read_unchanged(top, "tools", _read_entry) for tool in tools)


def _read_entry(data: Json) -> list[Tool]:
    if maybe_string(data, "type") != "namespace" or not data.get("tools"):
        return [_read_tool(data)]
    namespace = {key: value for key, value in data.items() if key != "tools"}
    prefix = string(data, "name")
    return [
        replace(
            tool,
            name=full_tool_name(prefix, tool.name),
            extra={**tool.extra, NAMESPACE: namespace, OWN_NAME: tool.name},
        )
        for tool in read_each(data, "tools", _read_tool)
    ]


def _read_tool(data: Json) -> Tool:
    kind = string(data, "type")
    if kind == "custom":
        about = maybe_string(data, "description") or ""
        return Tool(name=string(data, "name"), description=about, schema=FREE_TEXT, extra={NAME: data})
    if kind != "function":
        return Tool(name=maybe_string(data, "name") or kind, builtin=True, extra={NAME: data})
    return Tool(
        name=string(data, "name"),
        description=maybe_string(data, "description") or "",
        schema=maybe_object(data, "parameters"),
        extra={NAME: extra_fields(data, _TOOL)},
    )


def write_tools(tools: Iterable[Tool]) -> list[Json]:
    """Write tools, without those that only another provider can run; tools of one namespace are together again."""
    written: list[Json] = []
    for namespace, group in groupby(tools, key=lambda tool: tool.extra.get(NAMESPACE)):
        entries = [data for tool in group if (data := _write_tool(tool))]
        written += entries if namespace is None else [{**namespace, "tools": entries}]
    return written


def _write_tool(tool: Tool) -> Json | None:
    extra = own_fields(tool.extra, NAME)
    if tool.builtin or extra.get("type") == "custom":
        return extra or None
    data: Json = {"type": "function", **extra, "name": tool.extra.get(OWN_NAME, tool.name)}
    if tool.description:
        data["description"] = tool.description
    if tool.schema:
        data["parameters"] = tool.schema
    if NAME not in tool.extra:
        data = {"parameters": {"type": "object", "properties": {}}, "strict": False, **data}
    return data


def tools_by_name(tools: Iterable[Tool]) -> Mapping[str, Tool]:
    """The tools of a request that are not plain functions, by name."""
    return {tool.name: tool for tool in tools if NAMESPACE in tool.extra or is_custom(tool)}


def is_custom(tool: Tool | None) -> bool:
    """Whether a tool takes plain text."""
    return tool is not None and own_fields(tool.extra, NAME).get("type") == "custom"


def with_own_name(call: ToolCall, tool: Tool | None) -> ToolCall:
    """A call by another dialect or a script, with the namespace of its tool."""
    if tool is None or NAMESPACE not in tool.extra:
        return call
    return replace(call, extra={**call.extra, **_names(tool.extra[NAMESPACE].get("name"), tool.extra[OWN_NAME])})


def _names(namespace: Any, name: str) -> dict[str, Any]:
    return {NAMESPACE: {"name": namespace}, OWN_NAME: name}


def call_names(data: Json) -> tuple[str, dict[str, Any]]:
    """The full name of the called tool, and what `extra` needs to write the call again."""
    name, namespace = maybe_string(data, "name") or "", data.get("namespace")
    if not isinstance(namespace, str) or not namespace or not name:
        return name, {}
    return full_tool_name(namespace, name), _names(namespace, name)


def written_names(call: ToolCall) -> Json:
    """The fields `name` and `namespace` of a call."""
    namespace = call.extra.get(NAMESPACE)
    if namespace is None:
        return {"name": call.name}
    return {"name": call.extra[OWN_NAME], "namespace": namespace["name"]}
