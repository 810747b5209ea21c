"""Reading agent output that has one JSON value per line: Demeanor's own events, or objects of any other shape."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from demeanor.core.text.codec import DecodeError, decode
from demeanor.core.text.json_values import as_dict, as_dicts, as_text
from demeanor.core.values.process import ProcessEnd
from demeanor.core.values.trajectory import Event, Trajectory

_TRUNCATED = "the agent printed so much that its log was truncated"


def read_events(ends: tuple[ProcessEnd, ...]) -> tuple[Event, ...]:
    """The events on the standard output of all processes; raises ValueError with the number of an unreadable line."""
    events: list[Event] = []
    for end in ends:
        if end.stdout.truncated:
            raise ValueError(_TRUNCATED)
        for number, line in enumerate(end.stdout.text.splitlines(), 1):
            if line.strip():
                events += _read_event(number, line)
    return tuple(events)


def _read_event(number: int, line: str) -> tuple[Event, ...]:
    try:
        return decode(Trajectory, {"events": [json.loads(line)]}).events
    except (DecodeError, ValueError, RecursionError) as error:
        raise ValueError(f"line {number} of the agent's log is not an event: {error}") from None


def json_lines(ends: Iterable[ProcessEnd]) -> Iterator[dict[str, Any]]:
    """Every JSON object on the standard output of all processes. Other lines are skipped: agents print warnings.

    Raises ValueError if the output was truncated, because calls may be missing from it.
    """
    for end in ends:
        if end.stdout.truncated:
            raise ValueError(_TRUNCATED)
        yield from json_objects(end.stdout.text)


def json_objects(lines: str) -> Iterator[dict[str, Any]]:
    """Every JSON object that is alone on its line; other lines are skipped."""
    for line in lines.splitlines():
        if line.startswith("{"):
            try:
                data = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(data, dict):
                yield data


def json_arguments(value: Any) -> dict[str, Any]:
    """The arguments of a tool call, given as an object or as its JSON text; empty if they are neither."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return as_dict(value)


def joined_text(value: Any) -> str:
    """The text of a message: a string, or the `text` of each of its parts, one per line."""
    return value if isinstance(value, str) else "\n".join(as_text(part.get("text")) for part in as_dicts(value))
