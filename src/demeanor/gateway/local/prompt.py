"""A conversation → what a small model reads: few words, and what never changes first, so that it is read only once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from demeanor.core.exchange import Request
from demeanor.core.messages import Message, Part, Text, Tool, ToolCall, ToolResult
from demeanor.gateway.local.grammar import ARGS, FINAL, TOOL, usable

_MOST_DESCRIPTION = 200
_HOW = {
    True: 'Answer with one JSON object: {"tool": NAME, "args": {...}} to use a tool,'
    ' or {"final": "..."} when the task is done.',
    False: 'Answer with one JSON object: {"tool": NAME, "args": {...}}.',
}
_EXAMPLES = re.compile(r"^Examples:\n((?:(?:User|You|Result): .*\n?|\n)+)", re.M)
_LINE = re.compile(r"^(User|You|Result): (.*)$", re.M)
_CALL = re.compile(r"(\w+) (\{.*\})")


def messages_of(request: Request) -> list[dict[str, str]]:
    """The conversation as role and text; neighbours of one role are told as one message."""
    names = {part.id: part.name for message in request.messages for part in message.parts if isinstance(part, ToolCall)}
    system, examples = _told_apart(request)
    spoken = [("system", _system(request, system)), *examples]
    for message in request.messages:
        if message.role in {"user", "assistant"}:
            spoken += _told(message, names, acts=bool(request.tools))
    return [
        {"role": role, "content": "\n\n".join(text for _, text in texts)}
        for role, texts in groupby(((role, text) for role, text in spoken if text), key=lambda pair: pair[0])
    ]


def _told_apart(request: Request) -> tuple[str, list[tuple[str, str]]]:
    """The system prompt without its examples, and the examples as if they had been said.

    A prompt may show how it is done: `Examples:`, then lines of `User:`, `You: TOOL {…}` and `Result:`. A small model
    learns little from a description, and much from a conversation that it seems to have held.
    """
    found = _EXAMPLES.search(request.system) if usable(request) else None
    if found is None:
        return request.system, []
    said: list[tuple[str, str]] = []
    tool = ""
    for who, text in _LINE.findall(found[1]):
        call = _CALL.fullmatch(text)
        if who == "You" and call:
            tool = call[1]
            said.append(("assistant", f'{{"{TOOL}": {json.dumps(tool)}, "{ARGS}": {call[2]}}}'))
        elif who == "You":
            said.append(("assistant", json.dumps({FINAL: text}, ensure_ascii=False)))
        else:
            said.append(("user", _result(tool, text) if who == "Result" else text))
    return (request.system[: found.start()] + request.system[found.end() :]).strip(), said


def _system(request: Request, system: str) -> str:
    tools = usable(request)
    if not tools:
        return system
    listing = "\n".join(f"- {signature(tool)}" for tool in tools)
    how = _HOW[request.tool_choice in {None, "auto"}]
    return "\n\n".join(text for text in (system, f"Tools:\n{listing}", how) if text)


def _result(name: str, text: str) -> str:
    return f"Result of {name}:\n{text}"


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
        return _result(name, part.text)
    return "" if part.kind == "thinking" else f"(something that can't be shown here: {part.kind})"
