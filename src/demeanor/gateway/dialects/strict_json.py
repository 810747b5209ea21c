"""Strict JSON: what the gateway accepts as JSON from anybody, and how it writes it.

Finite numbers, UTF-8, no halves of surrogate pairs, and no nesting that would break whoever walks it later.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

DEEPEST = 100
"""No message of any dialect nests deeper; what does is an attack on whoever walks it."""

_CONTAINERS: frozenset[Any] = frozenset({dict, list})
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def loads(body: bytes | str) -> Any:
    """The data in `body`; raises ValueError. Half a surrogate pair becomes the replacement character."""
    try:
        text = body if isinstance(body, str) else body.decode()
        data = _DECODER.decode(text.removeprefix("\ufeff"))
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8: {error.reason} at byte {error.start}") from None
    if len(text) > 2 * DEEPEST:
        _refuse_depth(data)
    if _SURROGATE_ESCAPE.search(text):
        loose = json.dumps(data, ensure_ascii=False)
        if _SURROGATE.search(loose):
            return json.loads(_SURROGATE.sub("\ufffd", loose))
    return data


def compact(data: Any) -> str:
    """`data` as JSON without spaces, in ASCII."""
    return _ENCODER.encode(data)


def arguments(raw: str) -> dict[str, Any] | None:
    """A tool call's arguments; None where `raw` is no JSON object. Nothing at all means no arguments."""
    if not raw or raw.isspace():
        return {}
    try:
        found = loads(raw)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _refuse_depth(data: Any) -> None:
    level: list[Any] = [data] if data.__class__ in _CONTAINERS else []
    for _ in range(DEEPEST):
        level = [
            below
            for value in level
            for below in (value.values() if value.__class__ is dict else value)
            if below.__class__ in _CONTAINERS
        ]
        if not level:
            return
    raise ValueError("nested too deeply")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError("a number is too big")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
_ENCODER = json.JSONEncoder(separators=(",", ":"))
