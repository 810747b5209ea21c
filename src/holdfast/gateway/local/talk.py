"""A conversation → what a small model reads: few words, and what never changes first, so that it is read only once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from holdfast.core.exchange import Message, Part, Request, Text, Tool, ToolCall, ToolResult
from holdfast.gateway.local.grammar import ARGS, FINAL, TOOL, usable

_MOST_DESCRIPTION = 200
_HOW = {
    True: 'Answer with one JSON object: {"tool": NAME, "args": {...}} to use a tool,'
    ' or {"final": "..."} when the task is done.',
    False: 'Answer with one JSON object: {"tool": NAME, "args": {...}}.',
}
_NEXT = 'What of the task is still to do? Use a tool for it. If nothing, answer {"final": "..."}. Do nothing twice.'
"""Said after the latest result only: small models tend to do once more what just worked."""


def messages_of(request: Request) -> list[dict[str, str]]:
    """The conversation as role and text; neighbours of one role are told as one message."""
    names = {part.id: part.name for message in request.messages for part in message.parts if isinstance(part, ToolCall)}
    spoken = [("system", _system(request))]
    for message in request.messages:
        if message.role in {"user", "assistant"}:
            spoken += _told(message, names, acts=bool(request.tools))
    last = request.messages[-1].parts[-1:] if request.messages else ()
    if any(isinstance(part, ToolResult) for part in last) and request.tool_choice in {None, "auto"}:
        spoken.append(("user", _NEXT))
    return [
        {"role": role, "content": "\n\n".join(text for _, text in texts)}
        for role, texts in groupby(((role, text) for role, text in spoken if text), key=lambda pair: pair[0])
    ]


def _system(request: Request) -> str:
    tools = usable(request)
    if not tools:
        return request.system
    listing = "\n".join(f"- {signature(tool)}" for tool in tools)
    how = _HOW[request.tool_choice in {None, "auto"}]
    return "\n\n".join(text for text in (request.system, f"Tools:\n{listing}", how) if text)


def signature(tool: Tool) -> str:
    """A tool in one line: `write_file(path, content): Create a file.`"""
    properties, required = tool.schema.get("properties"), tool.schema.get("required")
    names = properties if isinstance(properties, Mapping) else {}
    wanted = required if isinstance(required, list) else ()
    parameters = ", ".join(f"{name}{'' if name in wanted else '?'}{_kind(schema)}" for name, schema in names.items())
    description = " ".join(tool.description.split())[:_MOST_DESCRIPTION]
    return f"{tool.name}({parameters})" + (f": {description}" if description else "")


def _kind(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return f": {kind}" if isinstance(kind, str) and kind != "string" else ""


def _told(message: Message, names: Mapping[str, str], *, acts: bool) -> Iterator[tuple[str, str]]:
    for part in message.parts:
        yield message.role, _text(part, names, acts=acts and message.role == "assistant")


def _text(part: Part, names: Mapping[str, str], *, acts: bool) -> str:
    if isinstance(part, Text):
        return json.dumps({FINAL: part.text}, ensure_ascii=False) if acts and part.text else part.text
    if isinstance(part, ToolCall):
        given = part.raw if part.arguments is None else part.arguments
        return json.dumps({TOOL: part.name, ARGS: given}, ensure_ascii=False)
    if isinstance(part, ToolResult):
        name = part.name or names.get(part.call_id, "the tool")
        return f"Result of {name}:\n{part.text}"
    return "" if part.kind == "thinking" else f"(something that can't be shown here: {part.kind})"
