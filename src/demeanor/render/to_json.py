"""Values as JSON data."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any


def plain(value: Any) -> Any:
    """`value` as JSON data with every field in its place, also those that hold their default."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        # JSON has no word for these; an agent's own log may well claim an infinite cost.
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(kind):
        return {name: plain(getattr(value, name)) for name in kind.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def in_lines(document: Mapping[str, Any]) -> str:
    """A long document as JSON, in ASCII: a line for each key, and for each item of a list.

    Python indents JSON item by item, which takes several times as long as all the rest of a report.
    """
    return "{\n" + ",\n".join(f"  {json.dumps(key)}: {_line(value)}" for key, value in document.items()) + "\n}\n"


def _line(value: Any) -> str:
    if not isinstance(value, list) or not value:
        return json.dumps(value, allow_nan=False)
    return "[\n" + ",\n".join(f"    {json.dumps(item, allow_nan=False)}" for item in value) + "\n  ]"
