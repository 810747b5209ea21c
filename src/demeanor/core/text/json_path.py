"""Paths into JSON values, as written in checks: `scripts.test`, `users[0].name`, `["a.b"].c`."""

from __future__ import annotations

import json
import re
from typing import TypeAlias

Step: TypeAlias = str | int

_STEP = re.compile(r"""(?P<dot>\.)?(?P<name>[^.\[\]"]+)|\[(?P<index>-?\d+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]""")


def json_steps(path: str) -> tuple[Step, ...]:
    """The keys and indices of `path`. Raises ValueError if it is not a valid path."""
    steps: list[Step] = []
    position = 0
    while position < len(path):
        match = _STEP.match(path, position)
        if match is None or (match["name"] is not None and (match["dot"] is None) != (position == 0)):
            raise ValueError(f"the JSON path {path!r} can't be read from {path[position:]!r} on")
        if match["name"] is not None:
            steps.append(match["name"])
        elif match["index"] is not None:
            steps.append(int(match["index"]))
        else:
            steps.append(_unquoted(path, match["quoted"]))
        position = match.end()
    if not steps:
        raise ValueError("the JSON path is empty")
    return tuple(steps)


def _unquoted(path: str, quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise ValueError(f"the JSON path {path!r} can't be read from {quoted!r} on") from None
