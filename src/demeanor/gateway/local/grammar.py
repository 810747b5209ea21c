"""Restricts a small model's output to valid tool calls, and parses that output.

A small model without restrictions forgets brackets and invents tools. So its output is restricted to one of two forms:
`{"tool": NAME, "args": {…}}` with an offered tool and arguments of the right shape, or `{"final": TEXT}`. The schema of
a tool is untrusted: only the parts that the engine is known to understand are used, and any value is allowed for the
rest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from demeanor.core.values.exchange import Request, StopReason
from demeanor.core.values.messages import Part, Text, Tool, ToolCall
from demeanor.gateway.dialects.strict_json import loads

Schema: TypeAlias = Mapping[str, Any]

TOOL, ARGS, FINAL = "tool", "args", "final"
_MAX_DEPTH = 8
_SIMPLE_TYPES = ("string", "number", "integer", "boolean", "null")

_TRUNCATED_CALL = re.compile(r'\s*\{\s*"tool"\s*:\s*("(?:[^"\\]|\\.)*")\s*(?:,\s*"args"\s*:\s*(.*))?', re.S)
_TRUNCATED_FINAL = re.compile(r'\s*\{\s*"final"\s*:\s*"((?:[^"\\]|\\.)*)', re.S)


def callable_tools(request: Request) -> tuple[Tool, ...]:
    """The tools that may be called in this turn."""
    tools = tuple(tool for tool in request.tools if not tool.builtin)
    if request.tool_choice in {None, "auto", "required"}:
        return tools
    return tuple(tool for tool in tools if tool.name == request.tool_choice)


def output_schema(request: Request) -> dict[str, Any] | None:
    """The JSON schema of the output; None if any text is allowed."""
    tools = callable_tools(request)
    if not tools:
        return None if request.json_schema is None else simplify_schema(request.json_schema)
    choices = [_object_schema({TOOL: {"const": tool.name}, ARGS: _arguments_schema(tool.schema)}) for tool in tools]
    if request.tool_choice in {None, "auto"}:
        text = {"type": "string"} if request.json_schema is None else simplify_schema(request.json_schema)
        choices.append(_object_schema({FINAL: text}))
    return {"anyOf": choices}


def simplify_schema(schema: Any) -> dict[str, Any]:
    """The parts of a schema that the engine is known to understand."""
    return _simplify(schema, schema, _MAX_DEPTH)


def _arguments_schema(schema: Schema) -> dict[str, Any]:
    """The schema of a tool's arguments: always an object, whatever the tool's schema says."""
    simple = simplify_schema(schema)
    if "properties" in simple or simple.get("type") == "object":
        return simple
    return {"type": "object"} if schema else _object_schema({})


def _simplify(schema: Any, root: Any, depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth == 0:
        return {}
    if isinstance(schema.get("$ref"), str):
        return _simplify(_resolve(schema["$ref"], root), root, depth - 1)
    if "const" in schema:
        return {"const": schema["const"]}
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return {"enum": list(schema["enum"])}
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list) and schema[word]:
            return {"anyOf": [_simplify(branch, root, depth - 1) for branch in schema[word]]}
    kind = schema.get("type")
    if isinstance(kind, list) and kind:
        return {"anyOf": [_simplify({**schema, "type": type_}, root, depth - 1) for type_ in kind]}
    if isinstance(kind, str) and kind in _SIMPLE_TYPES:
        return {"type": kind}
    if kind == "array":
        return {"type": "array", "items": _simplify(schema.get("items"), root, depth - 1)}
    if isinstance(schema.get("properties"), Mapping):
        required = schema.get("required")
        properties = {
            str(name): _simplify(property_, root, depth - 1) for name, property_ in schema["properties"].items()
        }
        return _object_schema(properties, required if isinstance(required, list) else ())
    return {"type": "object"} if kind == "object" else {}


def _object_schema(properties: Mapping[str, Any], required: Sequence[Any] | None = None) -> dict[str, Any]:
    names = [name for name in properties if required is None or name in required]
    return {"type": "object", "properties": dict(properties), "required": names, "additionalProperties": False}


def _resolve(reference: str, root: Any) -> Any:
    """Resolve a reference within the same schema; external references are not followed."""
    node = root
    for step in reference.removeprefix("#").split("/")[1:]:
        node = node.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(node, Mapping) else None
    return node if reference.startswith("#") else None


def read_answer(text: str, request: Request, *, number: int, truncated: bool) -> tuple[Part, StopReason]:
    """The model's output as a part of a response. Truncated output is kept as far as it goes, and marked as truncated.

    `number` becomes part of a call's id.
    """
    names = {tool.name for tool in callable_tools(request)}
    if not names:
        return Text(text=text), StopReason.LENGTH if truncated else StopReason.END
    try:
        output = loads(text)
    except ValueError:
        return _read_truncated(text, names, number), StopReason.LENGTH
    if isinstance(output, dict) and output.get(TOOL) in names and isinstance(output.get(ARGS), dict):
        raw = json.dumps(output[ARGS], ensure_ascii=False)
        return ToolCall(id=f"call_{number}", name=output[TOOL], arguments=output[ARGS], raw=raw), StopReason.TOOL_USE
    if isinstance(output, dict) and FINAL in output:
        final = output[FINAL]
        return Text(text=final if isinstance(final, str) else json.dumps(final)), StopReason.END
    return Text(text=text), StopReason.LENGTH if truncated else StopReason.END


def _read_truncated(text: str, names: set[str], number: int) -> Part:
    """The part that truncated output started: a call with incomplete arguments, a final text, or plain text."""
    call = _TRUNCATED_CALL.match(text)
    if call and loads(call[1]) in names:
        return ToolCall(id=f"call_{number}", name=loads(call[1]), arguments=None, raw=call[2] or "{")
    final = _TRUNCATED_FINAL.match(text)
    if final:
        try:
            return Text(text=str(loads(f'"{final[1]}"')))
        except ValueError:
            return Text(text=final[1])
    return Text(text=text)
