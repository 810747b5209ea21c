"""A small language for places in JSON: `messages[1].content[*].type`, `messages[role=tool].content`, `output[-1].id`.

`[*]` and `[key=value]` mean every fitting item, so the value of such a path is a list.
"""

from __future__ import annotations

import re
from typing import Any

ABSENT = object()
"""The value of a path that leads nowhere."""

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]|\[(\*)\]|\[([^=\]]+)=([^\]]*)\]")


def look_up(data: Any, path: str) -> Any:
    """What stands at `path` in `data`; ABSENT where nothing does."""
    found, many = [data], False
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"path {path!r}: can't be read from character {at}")
        at = step.end()
        key, index, star, name, value = step.groups()
        many = many or star is not None or name is not None
        found = [below for item in found for below in _take(item, key, index, star, name, value)]
    if many:
        return found
    return found[0] if found else ABSENT


def _take(
    item: Any, key: str | None, index: str | None, star: str | None, name: str | None, value: str | None
) -> list[Any]:
    if key is not None:
        return [item[key]] if isinstance(item, dict) and key in item else []
    if not isinstance(item, list):
        return []
    if index is not None:
        at = int(index)
        return [item[at]] if -len(item) <= at < len(item) else []
    if star is not None:
        return item
    return [below for below in item if isinstance(below, dict) and str(below.get(name)) == value]
