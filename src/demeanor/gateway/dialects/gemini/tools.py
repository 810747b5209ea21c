"""Tools of the Gemini dialect: groups of function declarations, and the provider's built-in tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from demeanor.core.values.messages import Tool
from demeanor.gateway.dialects.gemini.key_case import SPELLING, to_camel_case
from demeanor.gateway.dialects.gemini.parts import NAME
from demeanor.gateway.dialects.json_reader import (
    Json,
    as_extra,
    extra_fields,
    maybe_list,
    maybe_object,
    maybe_string,
    own_fields,
    read_each,
    require_object,
    string,
)

GROUP = f"{NAME}.group"
"""The key of `extra` under which a Tool stores the index of its entry in the list."""

_KEY = "functionDeclarations"
_JSON_SCHEMA = "parametersJsonSchema"
_DECLARATION = frozenset({"name", "description", _JSON_SCHEMA})


def read_tools(top: Json) -> tuple[Tool, ...]:
    """Read all tools of a request."""
    tools: list[Tool] = []
    for group, entry in enumerate(maybe_list(top, "tools")):
        data = require_object(entry, f"tools[{group}]")
        key = "function_declarations" if "function_declarations" in data else _KEY
        tools += (_in_group(tool, group, key) for tool in read_each(data, key, _read_declaration))
        others = extra_fields(data, frozenset({key}))
        if others or not data:
            tools.append(Tool(name=next(iter(others), "tool"), builtin=True, extra={NAME: others, GROUP: group}))
    return tuple(tools)


def write_tools(tools: Iterable[Tool]) -> list[Json]:
    """Write the tools in their groups; tools of other dialects share one group."""
    groups: dict[int, Json] = {}
    for tool in tools:
        if tool.builtin and GROUP not in tool.extra:
            continue
        entry = groups.setdefault(tool.extra.get(GROUP, 0), {})
        if tool.builtin:
            entry.update(own_fields(tool.extra, NAME))
        else:
            entry.setdefault(tool.extra.get(SPELLING, _KEY), []).append(_write_declaration(tool))
    return [groups[group] for group in sorted(groups)]


def _in_group(tool: Tool, group: int, key: str) -> Tool:
    extra = {**tool.extra, GROUP: group} if group else tool.extra
    extra = {**extra, SPELLING: key} if key != _KEY else extra
    return Tool(name=tool.name, description=tool.description, schema=tool.schema, extra=extra)


def _read_declaration(data: Json) -> Tool:
    extra = extra_fields(data, _DECLARATION)
    schema = maybe_object(to_camel_case(data), _JSON_SCHEMA) or _to_json_schema(data.get("parameters") or {})
    return Tool(
        name=string(data, "name"),
        description=maybe_string(data, "description") or "",
        schema=require_object(schema, "parameters"),
        extra=as_extra(NAME, extra),
    )


def _write_declaration(tool: Tool) -> Json:
    extra = own_fields(tool.extra, NAME)
    data: Json = {**extra, "name": tool.name}
    if tool.description:
        data["description"] = tool.description
    if tool.schema and not extra.keys() & {"parameters", "parameters_json_schema"}:
        data[_JSON_SCHEMA] = tool.schema
    return data


def _to_json_schema(schema: Any) -> Any:
    """Google's older schema style, with upper-case types, as JSON schema."""
    if isinstance(schema, list):
        return [_to_json_schema(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    result = {key: _to_json_schema(value) if key in _NESTED else value for key, value in schema.items()}
    if isinstance(result.get("properties"), dict):
        result["properties"] = {key: _to_json_schema(value) for key, value in result["properties"].items()}
    if isinstance(result.get("type"), str):
        result["type"] = result["type"].lower()
    return result


_NESTED = frozenset({"items", "anyOf", "oneOf", "allOf", "prefixItems"})
