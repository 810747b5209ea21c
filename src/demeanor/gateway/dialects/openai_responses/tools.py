"""Tools of the Responses format."""

from __future__ import annotations

from demeanor.core.exchange import Request
from demeanor.core.messages import Tool
from demeanor.gateway.dialects.json_reader import Json, inner, leftover, maybe_string, own, string
from demeanor.gateway.dialects.openai_responses.content import NAME
from demeanor.gateway.dialects.tool_arguments import FREE_TEXT

_TOOL = frozenset({"type", "name", "description", "parameters"})


def read_tool(data: Json) -> Tool:
    """One tool on offer."""
    kind = string(data, "type")
    if kind == "custom":
        about = maybe_string(data, "description") or ""
        return Tool(name=string(data, "name"), description=about, schema=FREE_TEXT, extra={NAME: data})
    if kind != "function":
        return Tool(name=maybe_string(data, "name") or kind, builtin=True, extra={NAME: data})
    return Tool(
        name=string(data, "name"),
        description=maybe_string(data, "description") or "",
        schema=inner(data, "parameters"),
        extra={NAME: leftover(data, _TOOL)},
    )


def write_tool(tool: Tool) -> Json | None:
    """The same; None for a tool that only another provider can run."""
    extra = own(tool.extra, NAME)
    if tool.builtin or extra.get("type") == "custom":
        return extra or None
    told: Json = {"type": "function", **extra, "name": tool.name}
    if tool.description:
        told["description"] = tool.description
    if tool.schema:
        told["parameters"] = tool.schema
    if NAME not in tool.extra:
        told = {"parameters": {"type": "object", "properties": {}}, "strict": False, **told}
    return told


def custom_tools(request: Request) -> set[str]:
    """The names of the tools that take plain text."""
    return {tool.name for tool in request.tools if own(tool.extra, NAME).get("type") == "custom"}
