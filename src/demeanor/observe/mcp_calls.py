"""The calls that the MCP servers of an eval recorded, merged into the trajectory.

Every agent has its own names for the tools of a server: `mcp__github__search`, `github_search`, … A recorded call
belongs to the next call of the trajectory with the same arguments whose name ends with the name of the tool; if there
is none, to one with further arguments, which the agent kept for itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from demeanor.core.text.wording import one_line
from demeanor.core.values.capture import Capture
from demeanor.core.values.mcp_fixture import MCP_LOGS, McpCall, read_record, shown_arguments, was_listed
from demeanor.core.values.trajectory import Called, Event, Faulted, Kind
from demeanor.core.values.verdict import VoidCause


def with_mcp_calls(events: Sequence[Event], capture: Capture) -> tuple[tuple[Event, ...], tuple[str, ...]]:
    """The events with the calls that the servers recorded, and notes on calls that the model did not request."""
    merged = list(events)
    notes = []
    for call in _calls(capture):
        place = _place(merged, call)
        if place is None:
            turn = max((event.turn for event in merged), default=1)
            merged.append(_only_recorded(call, turn, len(merged)))
            if capture.exchanges:
                notes.append(f"{call.name} was called, but not requested by the model")
            place = len(merged) - 1
        event = merged[place]
        if isinstance(event, Called):
            merged[place] = _complete(event, call)
        if call.fault:
            detail = f"{call.fault}: {call.name} {'did not answer' if call.result is None else 'answered'}"
            merged.insert(place + 1, Faulted(turn=event.turn, kind=call.fault.rpartition(":")[2], detail=detail))
    return tuple(merged), tuple(notes)


def servers(capture: Capture) -> tuple[str, ...]:
    """The servers that recorded their calls."""
    return tuple(name for name, text in _records(capture) if was_listed(text))


def server_failure(capture: Capture, *, recorded_only: bool = False) -> tuple[VoidCause, str] | None:
    """Why the servers did not give the agent what the eval promises, if they didn't.

    With `recorded_only`, a server that the agent never started is not to blame.
    """
    for name, text in _records(capture):
        why = "" if was_listed(text) else _failure(text) or "the agent never asked it for its tools"
        if why and (text or not recorded_only):
            return VoidCause.FIXTURE, f"the MCP server {name} was not used: {why}"
    for call in _calls(capture):
        if call.unanswered:
            arguments = one_line(shown_arguments(call.arguments), width=200)
            return VoidCause.FIXTURE, f"the fixture {call.server} has no reply to {call.tool}({arguments})"
    return None


def _records(capture: Capture) -> Iterator[tuple[str, str]]:
    for path, output in capture.task_files.items():
        folder, _, file = path.partition("/")
        if folder == MCP_LOGS and file.endswith(".jsonl"):
            yield file.removesuffix(".jsonl"), output.text


def _calls(capture: Capture) -> Iterator[McpCall]:
    for _, text in _records(capture):
        yield from read_record(text)


def _failure(text: str) -> str:
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("failed"), str):
            return one_line(entry["failed"], width=300)
    return ""


def _place(events: Sequence[Event], call: McpCall) -> int | None:
    free = [(place, event) for place, event in enumerate(events) if isinstance(event, Called) and not event.mcp]
    same = (place for place, event in free if _same(event, call))
    return next(same, next((place for place, event in free if _has_more(event, call)), None))


def _named(event: Called, call: McpCall) -> bool:
    return _letters(event.tool).endswith(_letters(call.tool)) or call.tool in event.tool


def _has_more(event: Called, call: McpCall) -> bool:
    """Whether an agent left out arguments that it requires for itself, such as its model's estimate of the risk."""
    return _named(event, call) and {**event.arguments, **_plain(call.arguments)} == dict(event.arguments)


def _same(event: Called, call: McpCall) -> bool:
    if _named(event, call) and _plain(event.arguments) == _plain(call.arguments):
        return True
    # An agent with one tool for all servers passes the tool and its arguments on; a search for it has no arguments.
    values = [_decoded(value) for value in event.arguments.values()]
    inner = [_plain(value) for value in values if isinstance(value, Mapping)] or [{}]
    return call.tool in values and _plain(call.arguments) in inner


def _decoded(value: Any) -> Any:
    """A value; an object that is written as a text is read."""
    try:
        return json.loads(value) if isinstance(value, str) and value.lstrip().startswith("{") else value
    except (ValueError, RecursionError):
        return value


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without those that are null, which clients leave out."""
    return {name: value for name, value in arguments.items() if value is not None}


def _complete(event: Called, call: McpCall) -> Called:
    result = event.result if event.result is not None else call.result
    return replace(event, mcp=call.name, result=result, succeeded=call.succeeded)


def _only_recorded(call: McpCall, turn: int, number: int) -> Called:
    return Called(
        turn=turn,
        id=f"mcp-{number}",
        tool=call.name,
        kind=Kind.OTHER,
        arguments=call.arguments,
        witness="server",
    )
