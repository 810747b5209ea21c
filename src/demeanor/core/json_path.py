"""Paths into JSON values, as a check writes them: `scripts.test`, `users[0].name`, `["a.b"].c`."""

from __future__ import annotations

import json
import re
from typing import TypeAlias

Step: TypeAlias = str | int

_STEP = re.compile(r"""(?P<dot>\.)?(?P<name>[^.\[\]"]+)|\[(?P<index>-?\d+)\]|\[(?P<quoted>"(?:[^"\\]|\\.)*")\]""")


def json_steps(path: str) -> tuple[Step, ...]:
    """The steps that `path` takes: keys and indices. Raises ValueError where it is none."""
    steps: list[Step] = []
    at = 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or (match["name"] is not None and (match["dot"] is None) != (at == 0)):
            raise ValueError(f"the JSON path {path!r} can't be read from {path[at:]!r} on")
        if match["name"] is not None:
            steps.append(match["name"])
        elif match["index"] is not None:
            steps.append(int(match["index"]))
        else:
            steps.append(_unquoted(path, match["quoted"]))
        at = match.end()
    if not steps:
        raise ValueError("the JSON path is empty")
    return tuple(steps)


def _unquoted(path: str, quoted: str) -> str:
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise ValueError(f"the JSON path {path!r} can't be read from {quoted!r} on") from None
