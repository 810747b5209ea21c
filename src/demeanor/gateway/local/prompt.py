"""Builds the prompt for a small model: short, and with the constant parts first, so that the engine can cache them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Part, Text, Tool, ToolCall, ToolResult
from demeanor.gateway.local.grammar import ARGS, FINAL, TOOL, callable_tools

_MAX_DESCRIPTION = 200
_INSTRUCTIONS = {
    True: 'Answer with one JSON object: {"tool": NAME, "args": {...}} to use a tool,'
    ' or {"final": "..."} when the task is done.',
    False: 'Answer with one JSON object: {"tool": NAME, "args": {...}}.',
}
_EXAMPLES = re.compile(r"^Examples:\n((?:(?:User|You|Result): .*\n?|\n)+)", re.M)
_LINE = re.compile(r"^(User|You|Result): (.*)$", re.M)
_CALL = re.compile(r"(\w+) (\{.*\})")


def chat_messages(request: Request) -> list[dict[str, str]]:
    """The conversation as role and text; adjacent messages of the same role are merged."""
    names = {part.id: part.name for message in request.messages for part in message.parts if isinstance(part, ToolCall)}
    system, examples = _split_examples(request)
    texts = [("system", _system(request, system)), *examples]
    for message in request.messages:
        if message.role in {"user", "assistant"}:
            texts += _message_texts(message, names, as_json=bool(request.tools))
    return [
        {"role": role, "content": "\n\n".join(text for _, text in group)}
        for role, group in groupby(((role, text) for role, text in texts if text), key=lambda pair: pair[0])
    ]


def shared_messages(request: Request) -> int:
    """How many messages at the start depend only on the system prompt and the tools, so that other trials have them."""
    system, examples = _split_examples(request)
    constant = [role for role, text in (("system", _system(request, system)), *examples) if text]
    groups = [role for role, _ in groupby(constant)]
    merged = bool(groups) and groups[-1] != "assistant" and bool(examples)  # with the user's message
    return len(groups) - merged


def _split_examples(request: Request) -> tuple[str, list[tuple[str, str]]]:
    """The system prompt without its examples, and the examples as messages.

    A system prompt may contain examples: `Examples:`, then lines of `User:`, `You: TOOL {…}` and `Result:`. A small
    model learns little from a description, but much from what looks like an earlier conversation.
    """
    match = _EXAMPLES.search(request.system) if callable_tools(request) else None
    if match is None:
        return request.system, []
    examples: list[tuple[str, str]] = []
    tool = ""
    for speaker, text in _LINE.findall(match[1]):
        call = _CALL.fullmatch(text)
        if speaker == "You" and call:
            tool = call[1]
            examples.append(("assistant", f'{{"{TOOL}": {json.dumps(tool)}, "{ARGS}": {call[2]}}}'))
        elif speaker == "You":
            examples.append(("assistant", json.dumps({FINAL: text}, ensure_ascii=False)))
        else:
            examples.append(("user", _result(tool, text) if speaker == "Result" else text))
    return (request.system[: match.start()] + request.system[match.end() :]).strip(), examples


def _system(request: Request, system: str) -> str:
    tools = callable_tools(request)
    if not tools:
        return system
    listing = "\n".join(f"- {signature(tool)}" for tool in tools)
    instruction = _INSTRUCTIONS[request.tool_choice in {None, "auto"}]
    return "\n\n".join(text for text in (system, f"Tools:\n{listing}", instruction) if text)


def _result(name: str, text: str) -> str:
    return f"Result of {name}:\n{text}"


def signature(tool: Tool) -> str:
    """A tool on one line: `write_file(path, content): Create a file.`"""
    properties, required = tool.schema.get("properties"), tool.schema.get("required")
    names = properties if isinstance(properties, Mapping) else {}
    required_names = required if isinstance(required, list) else ()
    parameters = ", ".join(
        f"{name}{'' if name in required_names else '?'}{_kind(schema)}" for name, schema in names.items()
    )
    description = " ".join(tool.description.split())[:_MAX_DESCRIPTION]
    return f"{tool.name}({parameters})" + (f": {description}" if description else "")


def _kind(schema: Any) -> str:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return f": {kind}" if isinstance(kind, str) and kind != "string" else ""


def _message_texts(message: Message, names: Mapping[str, str], *, as_json: bool) -> Iterator[tuple[str, str]]:
    for part in message.parts:
        yield message.role, _text(part, names, as_json=as_json and message.role == "assistant")


def _text(part: Part, names: Mapping[str, str], *, as_json: bool) -> str:
    if isinstance(part, Text):
        return json.dumps({FINAL: part.text}, ensure_ascii=False) if as_json and part.text else part.text
    if isinstance(part, ToolCall):
        arguments = part.raw if part.arguments is None else part.arguments
        return json.dumps({TOOL: part.name, ARGS: arguments}, ensure_ascii=False)
    if isinstance(part, ToolResult):
        name = part.name or names.get(part.call_id, "the tool")
        return _result(name, part.text)
    return "" if part.kind == "thinking" else f"(something that can't be shown here: {part.kind})"
