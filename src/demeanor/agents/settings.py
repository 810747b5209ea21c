"""An agent's settings file: what the adapter writes, and over it what the configuration says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from demeanor.core.agent import Task


def laid_over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables as one, table by table; any other value of `above` replaces that of `below`."""
    found = dict(below)
    for key, value in above.items():
        old = found.get(key)
        found[key] = laid_over(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return found


def own_settings(task: Task) -> Mapping[str, Any]:
    """What an eval's `params.settings` lays over all the others."""
    found = task.params.get("settings", {})
    if not isinstance(found, Mapping):
        raise ValueError(  # noqa: TRY004 - an author's mistake, as any other value would be
            f"params.settings must be a table of the agent's own settings, found {found!r}"
        )
    return found


def json_file(*tables: Mapping[str, Any]) -> bytes:
    """A settings file in JSON; each table is laid over those before it."""
    return json.dumps(_together(tables), indent=2, ensure_ascii=False, default=str).encode()


def toml_file(*tables: Mapping[str, Any]) -> bytes:
    """A settings file in TOML; each table is laid over those before it. Every value stands on a line of its own."""
    return "".join(f"{line}\n" for line in _lines(_together(tables), ())).encode()


def _together(tables: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for table in tables:
        found = laid_over(found, table)
    return found


def _lines(table: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[str]:
    for key, value in table.items():
        path = (*above, toml_value(str(key)))
        if isinstance(value, Mapping) and value:
            yield from _lines(value, path)
        else:
            yield f"{'.'.join(path)} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """A value in TOML, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_value(str(key))} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, str | bool | int):  # JSON writes these as TOML does, but for one character
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
