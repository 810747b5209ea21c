"""An agent's settings file: the adapter's settings, overridden by those of the configuration and of the eval."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import reduce
from typing import Any


def merged(base: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
    """Two tables merged recursively; any other value of `override` replaces that of `base`."""
    settings = dict(base)
    for key, value in override.items():
        old = settings.get(key)
        settings[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return settings


def json_file(*tables: Mapping[str, Any]) -> bytes:
    """A settings file in JSON; each table overrides those before it."""
    return json.dumps(_merge_all(tables), indent=2, ensure_ascii=False, default=str).encode()


def toml_file(*tables: Mapping[str, Any]) -> bytes:
    """A settings file in TOML, one value per line; each table overrides those before it."""
    return "".join(f"{line}\n" for line in _toml_lines(_merge_all(tables), ())).encode()


def _merge_all(tables: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
    empty: dict[str, Any] = {}
    return reduce(merged, tables, empty)


def _toml_lines(table: Mapping[str, Any], parents: tuple[str, ...]) -> Iterator[str]:
    for key, value in table.items():
        path = (*parents, toml_value(str(key)))
        if isinstance(value, Mapping) and value:
            yield from _toml_lines(value, path)
        else:
            yield f"{'.'.join(path)} = {toml_value(value)}"


def toml_value(value: Any) -> str:
    """A value in TOML, on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_value(str(key))} = {toml_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, str | bool | int):  # JSON and TOML write these alike, except for DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value)
