"""Reads Harbor's ATIF trajectories of any version, leniently, because producers differ in what they support.

A trajectory may lack calls and the results of tools. So nothing is concluded from what it does not contain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.core.text.json_values import as_dict, as_dicts
from demeanor.core.values.trajectory import Called, Event, Kind, Said, Thought, kind_of


def atif_steps(data: Any) -> list[dict[str, Any]]:
    """The valid steps of a trajectory."""
    return as_dicts(as_dict(data).get("steps"))


def atif_events(data: Any, kinds: Mapping[str, Kind]) -> tuple[Event, ...]:
    """The events of a trajectory: one turn for each step of the agent."""
    events: list[Event] = []
    turn = 0
    for step in atif_steps(data):
        if step.get("source") != "agent" or step.get("is_copied_context") is True:
            continue
        turn += 1
        if thought := _text(step.get("reasoning_content")):
            events.append(Thought(turn=turn, text=thought))
        if said := _text(step.get("message")):
            events.append(Said(turn=turn, text=said))
        results = {
            str(result.get("source_call_id")): result
            for result in as_dicts(as_dict(step.get("observation")).get("results"))
        }
        for call in as_dicts(step.get("tool_calls")):
            name, number = str(call.get("function_name") or ""), str(call.get("tool_call_id") or "")
            result = results.get(number)
            events.append(
                Called(
                    turn=turn,
                    id=number,
                    tool=name,
                    kind=kind_of(name, kinds),
                    arguments=as_dict(call.get("arguments")),
                    result=None if result is None else _text(result.get("content")),
                    witness="log",
                )
            )
    return tuple(events)


def _text(value: Any) -> str:
    """A text, which may be a list of parts."""
    if isinstance(value, str):
        return value if value.strip() else ""
    parts = [part.get("text") for part in as_dicts(value)]
    return "\n".join(part for part in parts if isinstance(part, str))
