"""Tools of the Gemini format: declarations in groups, beside the provider's own tools."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from demeanor.core.messages import Tool
from demeanor.gateway.dialects.gemini.key_case import SPELLING, camel
from demeanor.gateway.dialects.gemini.parts import NAME
from demeanor.gateway.dialects.json_reader import (
    Json,
    each,
    inner,
    items,
    kept,
    leftover,
    mapping,
    maybe_string,
    own,
    string,
)

GROUP = f"{NAME}.group"
"""Under this name a Tool's extra tells which entry of the list it stood in."""

_KEY = "functionDeclarations"
_JSON_SCHEMA = "parametersJsonSchema"
_DECLARATION = frozenset({"name", "description", _JSON_SCHEMA})


def read_tools(top: Json) -> tuple[Tool, ...]:
    """All tools on offer."""
    found: list[Tool] = []
    for group, entry in enumerate(items(top, "tools")):
        data = mapping(entry, f"tools[{group}]")
        key = "function_declarations" if "function_declarations" in data else _KEY
        found += (_in_group(tool, group, key) for tool in each(data, key, _read_declaration))
        rest = leftover(data, frozenset({key}))
        if rest or not data:
            found.append(Tool(name=next(iter(rest), "tool"), builtin=True, extra={NAME: rest, GROUP: group}))
    return tuple(found)


def write_tools(tools: Iterable[Tool]) -> list[Json]:
    """The same, in their groups; tools of other dialects stand together."""
    groups: dict[int, Json] = {}
    for tool in tools:
        if tool.builtin and GROUP not in tool.extra:
            continue
        entry = groups.setdefault(tool.extra.get(GROUP, 0), {})
        if tool.builtin:
            entry.update(own(tool.extra, NAME))
        else:
            entry.setdefault(tool.extra.get(SPELLING, _KEY), []).append(_write_declaration(tool))
    return [groups[group] for group in sorted(groups)]


def _in_group(tool: Tool, group: int, key: str) -> Tool:
    extra = {**tool.extra, GROUP: group} if group else tool.extra
    extra = {**extra, SPELLING: key} if key != _KEY else extra
    return Tool(name=tool.name, description=tool.description, schema=tool.schema, extra=extra)


def _read_declaration(data: Json) -> Tool:
    extra = leftover(data, _DECLARATION)
    schema = inner(camel(data), _JSON_SCHEMA) or _standard(data.get("parameters") or {})
    return Tool(
        name=string(data, "name"),
        description=maybe_string(data, "description") or "",
        schema=mapping(schema, "parameters"),
        extra=kept(NAME, extra),
    )


def _write_declaration(tool: Tool) -> Json:
    extra = own(tool.extra, NAME)
    told: Json = {**extra, "name": tool.name}
    if tool.description:
        told["description"] = tool.description
    if tool.schema and not extra.keys() & {"parameters", "parameters_json_schema"}:
        told[_JSON_SCHEMA] = tool.schema
    return told


def _standard(schema: Any) -> Any:
    """A schema in Google's older style, where types are in capitals, as JSON schema."""
    if isinstance(schema, list):
        return [_standard(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    told = {key: _standard(value) if key in _NESTED else value for key, value in schema.items()}
    if isinstance(told.get("properties"), dict):
        told["properties"] = {key: _standard(value) for key, value in told["properties"].items()}
    if isinstance(told.get("type"), str):
        told["type"] = told["type"].lower()
    return told


_NESTED = frozenset({"items", "anyOf", "oneOf", "allOf", "prefixItems"})
