"""Reading an agent's machine output: one JSON object per line, as far as it goes."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

from demeanor.core.process import ProcessEnd


def json_lines(ends: Iterable[ProcessEnd]) -> Iterator[dict[str, Any]]:
    """Every JSON object on the standard output of all processes; other lines are passed over.

    Agents print warnings between their events. An output of which the middle is missing can't be trusted, so that is a
    ValueError.
    """
    for end in ends:
        if end.stdout.truncated:
            raise ValueError("the agent printed so much that its log is cut")
        yield from json_objects(end.stdout.text)


def json_objects(lines: str) -> Iterator[dict[str, Any]]:
    """Every JSON object that stands on a line of its own; other lines are passed over."""
    for line in lines.splitlines():
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(found, dict):
                yield found


def text(value: Any) -> str:
    """A text, or nothing: what an agent prints has any shape."""
    return value if isinstance(value, str) else ""


def table(value: Any) -> dict[str, Any]:
    """A table, or an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[dict[str, Any]]:
    """The tables in a list, or none."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def number(value: Any) -> float | None:
    """A number that can be reckoned with, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None
