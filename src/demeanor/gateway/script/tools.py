"""Using whatever tools an agent offers, by what they do: one script drives any agent.

A script says `edit` with `path` and `content`; the tool of that kind which takes such arguments is found in the offer,
and the arguments are put under the names, and into the shapes, that its schema asks for. Where no tool of the kind is
on offer but a shell is, the shell does it.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from demeanor.core.messages import Tool
from demeanor.core.trajectory import Kind, kind_of

_NAMES: Mapping[str, str] = {
    "path": "path file_path filePath filename file_name file absolute_path target_file paths file_paths files",
    "content": "content contents file_text text new_text new_content",
    "old": "old old_string old_str oldText old_text oldString search",
    "new": "new new_string new_str newText new_text newString replace",
    "command": "command cmd commands script",
    "pattern": "pattern query regex search glob",
    "url": "url urls uri",
    "text": "text thought answer result summary message content",
}
"""What a script calls an argument → what tools call it, the usual names first."""

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
"""Values of an enumeration that tell a tool of many uses (an editor) which one is meant."""

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
"""What a tool of a kind must be able to take, where a script does not say which arguments it has in mind."""


def choose(tools: Sequence[Tool], kind: Kind, names: Sequence[str] | None = None) -> Tool | None:
    """The first tool of a kind that takes all these arguments; editors also read."""
    wanted = _ARGUMENTS[kind] if names is None else names
    kinds = {kind, Kind.EDIT} if kind is Kind.READ else {kind}
    fitting = [tool for tool in tools if kind_of(tool.name) in kinds and _fits(tool, kind, wanted)]
    return min(fitting, key=lambda tool: kind_of(tool.name) is not kind, default=None)


def arguments(tool: Tool, kind: Kind, given: Mapping[str, str], root: str = "") -> dict[str, Any]:
    """What is given, under the names and in the shapes of the tool's schema; what else is required is filled in.

    A path is put below `root`, the workspace, where a tool takes absolute paths only.
    """
    properties = _properties(tool)
    found: dict[str, Any] = {}
    for name, value in given.items():
        own = _own_name(properties, name) or name
        if name == "path" and root and _absolute(properties.get(own)):
            value = str(PurePosixPath(root, value))  # noqa: PLW2901 - the same path, told in full
        found[own] = _shaped(value, own, properties.get(own, {}))
    for name in tool.schema.get("required", ()):
        if name not in found:
            found[name] = _filler(properties.get(name, {}), kind, given)
    return found


def shell_command(kind: Kind, given: Mapping[str, str]) -> str | None:
    """A shell command that does the same; None where a shell can't."""
    path = shlex.quote(given.get("path", ""))
    if kind is Kind.EXECUTE:
        return given.get("command")
    if kind is Kind.READ and "path" in given:
        return f"cat {path}"
    if kind is Kind.DELETE and "path" in given:
        return f"rm {path}"
    if kind is Kind.EDIT and given.keys() >= {"path", "content"}:
        return f"printf %s {shlex.quote(given['content'])} > {path}"
    if kind is Kind.EDIT and given.keys() >= {"path", "old", "new"}:
        return f"python3 -c {shlex.quote(_REPLACE)} {path} {shlex.quote(given['old'])} {shlex.quote(given['new'])}"
    if kind is Kind.SEARCH:
        return f"grep -rn -e {shlex.quote(given['pattern'])} ." if "pattern" in given else "ls"
    return None


def _properties(tool: Tool) -> Mapping[str, Any]:
    found = tool.schema.get("properties")
    return found if isinstance(found, Mapping) else {}


def _own_name(properties: Mapping[str, Any], name: str) -> str | None:
    """What the tool calls the argument; None where it has no such argument."""
    return next((own for own in _NAMES.get(name, name).split() if own in properties), None)


def _fits(tool: Tool, kind: Kind, names: Sequence[str]) -> bool:
    properties = _properties(tool)
    if kind is Kind.READ and kind_of(tool.name) is Kind.EDIT and not any(map(_enumeration, properties.values())):
        return False
    return all(_own_name(properties, name) for name in names)


def _absolute(schema: Any) -> bool:
    return isinstance(schema, Mapping) and "absolute" in str(schema.get("description")).lower()


def _enumeration(schema: Any) -> list[Any]:
    found = schema.get("enum") if isinstance(schema, Mapping) else None
    return found if isinstance(found, list) else []


def _type(schema: Any) -> Any:
    found = schema.get("type") if isinstance(schema, Mapping) else None
    return next((t for t in found if t != "null"), None) if isinstance(found, list) else found


def _shaped(value: str, name: str, schema: Any) -> Any:
    """A text in the shape that a schema asks for: lists of paths, lists of words, lists of tables."""
    if _type(schema) != "array":
        return value
    items = schema.get("items")
    if _type(items) == "object":
        inner = _own_name(items.get("properties", {}), "path") or _own_name(items.get("properties", {}), "command")
        return [{inner or "path": value}]
    return ["bash", "-lc", value] if name in {"command", "cmd"} else [value]


def _filler(schema: Any, kind: Kind, given: Mapping[str, str]) -> Any:
    """A value for a required argument of which a script knows nothing."""
    choices = _enumeration(schema)
    if choices:
        modes = ("str_replace", "replace", "edit") if "old" in given else _MODES.get(kind, ())
        return next((choice for choice in choices if str(choice).lower() in modes), choices[0])
    fillers = {"boolean": False, "integer": 0, "number": 0, "array": [], "object": {}, "null": None}
    return fillers.get(_type(schema), f"{kind} {json.dumps(given, ensure_ascii=False)}"[:80])
