"""Strict JSON: what the gateway accepts as JSON, and how it writes it.

Finite numbers, UTF-8, no lone surrogates, and limited nesting, so that recursive code is safe.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection
from typing import Any, NoReturn

MAX_DEPTH = 100
"""No message of any dialect nests deeper."""

_CONTAINERS: frozenset[Any] = frozenset({dict, list})
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def loads(body: bytes | str, later: Collection[str] = ()) -> Any:
    """The data in `body`; raises ValueError. A lone surrogate becomes the replacement character.

    The nesting in the fields `later` of an object is left to `check_depth`.
    """
    try:
        text = body if isinstance(body, str) else body.decode()
        data = _DECODER.decode(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    if len(text) > 2 * MAX_DEPTH:
        check_depth(_without(data, later) if later else data)
    if _SURROGATE_ESCAPE.search(text):
        escaped = json.dumps(data, ensure_ascii=False)
        if _SURROGATE.search(escaped):
            return json.loads(_SURROGATE.sub("\ufffd", escaped))
    return data


def compact(data: Any) -> str:
    """`data` as JSON without spaces, in ASCII."""
    return _ENCODER.encode(data)


def arguments(raw: str) -> dict[str, Any] | None:
    """A tool call's arguments; None if `raw` is not a JSON object. Empty text means no arguments."""
    if not raw or raw.isspace():
        return {}
    try:
        value = loads(raw)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def check_depth(data: Any, most: int = MAX_DEPTH) -> None:
    """Raise ValueError if data has more than `most` levels of objects and lists."""
    level: list[Any] = [data] if data.__class__ in _CONTAINERS else []
    for _ in range(most):
        level = [
            below
            for value in level
            for below in (value.values() if value.__class__ is dict else value)
            if below.__class__ in _CONTAINERS
        ]
        if not level:
            return
    raise ValueError("nested too deeply")


def _without(data: Any, keys: Collection[str]) -> Any:
    return {key: value for key, value in data.items() if key not in keys} if data.__class__ is dict else data


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number is too big")
    return value


_DECODER = json.JSONDecoder(parse_constant=_reject_constant, parse_float=_finite)
_ENCODER = json.JSONEncoder(separators=(",", ":"))
