"""Names in camel case or with underscores: Google takes both, and its own clients mix them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from demeanor.gateway.dialects.json_reader import Json

SPELLING = "gemini.spelling"
"""Under this name a value's extra tells which of its names were written with underscores."""

_UNDERSCORE = re.compile(r"_([a-z0-9])")


def camel(data: Json) -> Json:
    """`data` with its names in camel case."""
    if not any("_" in key for key in data):
        return data
    return {_camel(key): value for key, value in data.items()}


def spelling(*levels: Any) -> Json:
    """How the names were written that `camel` changes, as a part of a value's extra."""
    odd = {_camel(key): key for data in levels if isinstance(data, dict) for key in data if "_" in key}
    return {SPELLING: odd} if odd else {}


def respelled(data: Json, extra: Mapping[str, Json]) -> Json:
    """`data` with its names as they were written, one level down too."""
    odd = extra.get(SPELLING)
    if not odd:
        return data
    told = {odd.get(key, key): value for key, value in data.items()}
    for key, value in told.items():
        if isinstance(value, dict):
            told[key] = {odd.get(name, name): item for name, item in value.items()}
    return told


def _camel(key: str) -> str:
    return _UNDERSCORE.sub(lambda found: found[1].upper(), key)
