"""Reading an agent's own log that is written as one event of ours per line."""

from __future__ import annotations

import json

from demeanor.core.codec import DecodeError, decode
from demeanor.core.process import ProcessEnd
from demeanor.core.trajectory import Event, Trajectory


def read_events(ends: tuple[ProcessEnd, ...]) -> tuple[Event, ...]:
    """The events on the standard output of all processes; raises ValueError naming the line that is none."""
    found: list[Event] = []
    for end in ends:
        if end.stdout.truncated:
            raise ValueError("the agent printed so much that its log is cut")
        for number, line in enumerate(end.stdout.text.splitlines(), 1):
            if line.strip():
                found += _read_line(number, line)
    return tuple(found)


def _read_line(number: int, line: str) -> tuple[Event, ...]:
    try:
        return decode(Trajectory, {"events": [json.loads(line)]}).events
    except (DecodeError, ValueError, RecursionError) as error:
        raise ValueError(f"line {number} of the agent's log is no event: {error}") from None
