"""Key names in camel case or snake case: Google accepts both, and its own clients mix them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from demeanor.gateway.dialects.json_reader import Json

SPELLING = "gemini.spelling"
"""The key of `extra` under which a value stores the keys that were in snake case."""

_UNDERSCORE = re.compile(r"_([a-z0-9])")


def to_camel_case(data: Json) -> Json:
    """`data` with its keys in camel case."""
    if not any("_" in key for key in data):
        return data
    return {_camel_key(key): value for key, value in data.items()}


def original_case(*levels: Any) -> Json:
    """The original names of the keys that `to_camel_case` changes, as a part of a value's `extra`."""
    changed = {_camel_key(key): key for data in levels if isinstance(data, dict) for key in data if "_" in key}
    return {SPELLING: changed} if changed else {}


def restore_case(data: Json, extra: Mapping[str, Json]) -> Json:
    """`data` with its original key names, also one level down."""
    changed = extra.get(SPELLING)
    if not changed:
        return data
    result = {changed.get(key, key): value for key, value in data.items()}
    for key, value in result.items():
        if isinstance(value, dict):
            result[key] = {changed.get(name, name): item for name, item in value.items()}
    return result


def _camel_key(key: str) -> str:
    return _UNDERSCORE.sub(lambda match: match[1].upper(), key)
