"""Calls whatever tools an agent offers by what they do, so that one script works with any agent.

A script calls `edit` with `path` and `content`. The offered tool of that kind that takes such arguments is found, and
the arguments get the names and shapes that its schema asks for. If no tool of the kind is offered but a shell is, the
shell is used.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from demeanor.core.values.messages import Tool
from demeanor.core.values.trajectory import Kind, kind_of

_NAMES: Mapping[str, str] = {
    "path": "path file_path filePath filepath filename file_name file absolute_path target_file paths file_paths files",
    "content": "content contents file_text text new_text new_content",
    "old": "old old_string old_str oldText old_text oldString search before",
    "new": "new new_string new_str newText new_text newString replace after",
    "command": "command cmd commands script",
    "pattern": "pattern query regex search glob",
    "url": "url urls uri",
    "text": "text thought answer result summary message content",
}
"""Argument name in a script → names that tools use for it, the usual ones first."""

ARGUMENT_NAMES = tuple(_NAMES)
"""The arguments that a script can give without knowing the tool."""

_REPLACE = (
    "import pathlib, sys; path, old, new = sys.argv[1:]; file = pathlib.Path(path); text = file.read_text(); "
    "sys.exit('not there: ' + old) if old not in text else file.write_text(text.replace(old, new, 1))"
)

_MODES: Mapping[Kind, tuple[str, ...]] = {
    Kind.READ: ("view", "read", "cat"),
    Kind.EDIT: ("create", "write", "overwrite"),
    Kind.DELETE: ("delete", "remove"),
}
"""Enum values that select an operation in a tool with several operations (an editor)."""

_ARGUMENTS: Mapping[Kind, tuple[str, ...]] = {
    Kind.READ: ("path",),
    Kind.EDIT: ("path", "content"),
    Kind.DELETE: ("path",),
    Kind.SEARCH: (),
    Kind.EXECUTE: ("command",),
    Kind.FETCH: ("url",),
    Kind.THINK: (),
    Kind.OTHER: (),
}
"""The arguments that a tool of a kind must take, if a script does not say which ones it needs."""


def find_tool(tools: Sequence[Tool], kind: Kind, names: Sequence[str] | None = None) -> Tool | None:
    """The first tool of a kind that takes all these arguments; an editor can also read."""
    argument_names = _ARGUMENTS[kind] if names is None else names
    kinds = {kind, Kind.EDIT} if kind is Kind.READ else {kind}
    matching = [tool for tool in tools if kind_of(tool.name) in kinds and _fits(tool, kind, argument_names)]
    return min(matching, key=lambda tool: kind_of(tool.name) is not kind, default=None)


def tool_arguments(tool: Tool, kind: Kind, values: Mapping[str, str], root: str = "") -> dict[str, Any]:
    """The given values with the names and shapes of the tool's schema; other required arguments get default values.

    A relative path is joined to `root`, the workspace, if the tool takes absolute paths only.
    """
    properties = _properties(tool)
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        own = _own_name(properties, name) or name
        if name == "path" and root and _absolute(properties.get(own)):
            value = str(PurePosixPath(root, value))  # noqa: PLW2901 - the same path, made absolute
        arguments[own] = _in_shape(value, own, properties.get(own, {}))
    for name in tool.schema.get("required", ()):
        if name not in arguments:
            arguments[name] = _default_value(properties.get(name, {}), kind, values)
    return arguments


def shell_command(kind: Kind, values: Mapping[str, str]) -> str | None:
    """A shell command that does the same; None if there is none."""
    path = shlex.quote(values.get("path", ""))
    if kind is Kind.EXECUTE:
        return values.get("command")
    if kind is Kind.READ and "path" in values:
        return f"cat {path}"
    if kind is Kind.DELETE and "path" in values:
        return f"rm {path}"
    if kind is Kind.EDIT and values.keys() >= {"path", "content"}:
        return f"printf %s {shlex.quote(values['content'])} > {path}"
    if kind is Kind.EDIT and values.keys() >= {"path", "old", "new"}:
        return f"python3 -c {shlex.quote(_REPLACE)} {path} {shlex.quote(values['old'])} {shlex.quote(values['new'])}"
    if kind is Kind.SEARCH:
        return f"grep -rn -e {shlex.quote(values['pattern'])} ." if "pattern" in values else "ls"
    return None


def _properties(tool: Tool) -> Mapping[str, Any]:
    properties = tool.schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _own_name(properties: Mapping[str, Any], name: str) -> str | None:
    """The tool's name for the argument; None if it has no such argument."""
    return next((own for own in _NAMES.get(name, name).split() if own in properties), None)


def _fits(tool: Tool, kind: Kind, names: Sequence[str]) -> bool:
    properties = _properties(tool)
    if kind is Kind.READ and kind_of(tool.name) is Kind.EDIT and not any(map(_enumeration, properties.values())):
        return False
    return all(_own_name(properties, name) for name in names)


def _absolute(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "absolute" in str(schema.get("description")).lower()


def _enumeration(schema: Any) -> list[Any]:
    values = schema.get("enum") if isinstance(schema, Mapping) else None
    return values if isinstance(values, list) else []


def _type(schema: Any) -> Any:
    types = schema.get("type") if isinstance(schema, Mapping) else None
    return next((t for t in types if t != "null"), None) if isinstance(types, list) else types


def _in_shape(value: str, name: str, schema: Any) -> Any:
    """A text in the shape that a schema asks for: itself, a list of strings, or a list of objects."""
    if _type(schema) != "array":
        return value
    items = schema.get("items")
    if _type(items) == "object":
        inner = _own_name(items.get("properties", {}), "path") or _own_name(items.get("properties", {}), "command")
        return [{inner or "path": value}]
    return ["bash", "-lc", value] if name in {"command", "cmd"} else [value]


def _default_value(schema: Any, kind: Kind, values: Mapping[str, str]) -> Any:
    """A value for a required argument that the script does not give."""
    choices = _enumeration(schema)
    if choices:
        modes = ("str_replace", "replace", "edit") if "old" in values else _MODES.get(kind, ())
        return next((choice for choice in choices if str(choice).lower() in modes), choices[0])
    defaults = {"boolean": False, "integer": 0, "number": 0, "array": [], "object": {}, "null": None}
    return defaults.get(_type(schema), f"{kind} {json.dumps(values, ensure_ascii=False)}"[:80])
