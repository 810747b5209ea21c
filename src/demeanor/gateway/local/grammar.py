"""Tools on offer → the only things that a small model can say, and back: what it said → a part of an answer.

A small model left to itself forgets brackets and invents tools. So its words are held to one of two shapes while it
speaks them: `{"tool": NAME, "args": {…}}` with a tool that is on offer and arguments of the right shape, or
`{"final": TEXT}`. A tool's schema is somebody's text: only what the engine surely understands is taken from it, and
where it says something else, any value will do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from demeanor.core.exchange import Request, StopReason
from demeanor.core.messages import Part, Text, Tool, ToolCall
from demeanor.gateway.dialects.strict_json import loads

Schema: TypeAlias = Mapping[str, Any]

TOOL, ARGS, FINAL = "tool", "args", "final"
_DEEPEST = 8
_PLAIN = ("string", "number", "integer", "boolean", "null")

_CUT_CALL = re.compile(r'\s*\{\s*"tool"\s*:\s*("(?:[^"\\]|\\.)*")\s*(?:,\s*"args"\s*:\s*(.*))?', re.S)
_CUT_FINAL = re.compile(r'\s*\{\s*"final"\s*:\s*"((?:[^"\\]|\\.)*)', re.S)


def usable(request: Request) -> tuple[Tool, ...]:
    """The tools that may be called in this turn."""
    tools = tuple(tool for tool in request.tools if not tool.builtin)
    if request.tool_choice in {None, "auto", "required"}:
        return tools
    return tuple(tool for tool in tools if tool.name == request.tool_choice)


def schema_of(request: Request) -> dict[str, Any] | None:
    """The schema of everything that may be said; None where any text will do."""
    tools = usable(request)
    if not tools:
        return None if request.json_schema is None else simplified(request.json_schema)
    choices = [_object({TOOL: {"const": tool.name}, ARGS: _arguments(tool.schema)}) for tool in tools]
    if request.tool_choice in {None, "auto"}:
        text = {"type": "string"} if request.json_schema is None else simplified(request.json_schema)
        choices.append(_object({FINAL: text}))
    return {"anyOf": choices}


def simplified(schema: Any) -> dict[str, Any]:
    """What of a schema the engine surely understands."""
    return _simplified(schema, schema, _DEEPEST)


def _arguments(schema: Schema) -> dict[str, Any]:
    """The shape of a tool's arguments: an object, whatever the tool's author wrote."""
    simple = simplified(schema)
    if "properties" in simple or simple.get("type") == "object":
        return simple
    return {"type": "object"} if schema else _object({})


def _simplified(schema: Any, root: Any, depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth == 0:
        return {}
    if isinstance(schema.get("$ref"), str):
        return _simplified(_resolved(schema["$ref"], root), root, depth - 1)
    if "const" in schema:
        return {"const": schema["const"]}
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return {"enum": list(schema["enum"])}
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list) and schema[word]:
            return {"anyOf": [_simplified(one, root, depth - 1) for one in schema[word]]}
    kind = schema.get("type")
    if isinstance(kind, list) and kind:
        return {"anyOf": [_simplified({**schema, "type": one}, root, depth - 1) for one in kind]}
    if isinstance(kind, str) and kind in _PLAIN:
        return {"type": kind}
    if kind == "array":
        return {"type": "array", "items": _simplified(schema.get("items"), root, depth - 1)}
    if isinstance(schema.get("properties"), Mapping):
        required = schema.get("required")
        properties = {str(name): _simplified(one, root, depth - 1) for name, one in schema["properties"].items()}
        return _object(properties, required if isinstance(required, list) else ())
    return {"type": "object"} if kind == "object" else {}


def _object(properties: Mapping[str, Any], required: Sequence[Any] | None = None) -> dict[str, Any]:
    wanted = [name for name in properties if required is None or name in required]
    return {"type": "object", "properties": dict(properties), "required": wanted, "additionalProperties": False}


def _resolved(reference: str, root: Any) -> Any:
    """What a reference within the same schema means; nothing is ever looked up elsewhere."""
    found = root
    for step in reference.removeprefix("#").split("/")[1:]:
        found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    return found if reference.startswith("#") else None


def read_answer(text: str, request: Request, *, number: int, cut: bool) -> tuple[Part, StopReason]:
    """What the model said, as a part of an answer. What was cut off is told as far as it goes, never taken for whole.

    `number` becomes part of a call's id.
    """
    names = {tool.name for tool in usable(request)}
    if not names:
        return Text(text=text), StopReason.LENGTH if cut else StopReason.END
    try:
        said = loads(text)
    except ValueError:
        return _half(text, names, number), StopReason.LENGTH
    if isinstance(said, dict) and said.get(TOOL) in names and isinstance(said.get(ARGS), dict):
        raw = json.dumps(said[ARGS], ensure_ascii=False)
        return ToolCall(id=f"call_{number}", name=said[TOOL], arguments=said[ARGS], raw=raw), StopReason.TOOL_USE
    if isinstance(said, dict) and FINAL in said:
        final = said[FINAL]
        return Text(text=final if isinstance(final, str) else json.dumps(final)), StopReason.END
    return Text(text=text), StopReason.LENGTH if cut else StopReason.END


def _half(text: str, names: set[str], number: int) -> Part:
    """A call without the end of its arguments, the beginning of a last word, or whatever else it is."""
    call = _CUT_CALL.match(text)
    if call and loads(call[1]) in names:
        return ToolCall(id=f"call_{number}", name=loads(call[1]), arguments=None, raw=call[2] or "{")
    final = _CUT_FINAL.match(text)
    if final:
        try:
            return Text(text=str(loads(f'"{final[1]}"')))
        except ValueError:
            return Text(text=final[1])
    return Text(text=text)
