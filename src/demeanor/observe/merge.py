"""Merge the events that the gateway recorded with those of the agent's own log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeGuard

from demeanor.core.text.wording import one_line
from demeanor.core.values.trajectory import Aside, Asked, Called, Concluded, Event, Faulted, Said, Steered


def merge(
    wire: Sequence[Event], log: Sequence[Event], *, has_tools: bool = True
) -> tuple[tuple[Event, ...], tuple[str, ...]]:
    """The merged events and the contradictions. The wire's order is kept; the log adds what only it records.

    Without `has_tools`, the agent offers its model no tools, so that only its log reports what it does.
    """
    log = [event for event in log if not isinstance(event, Faulted)]  # only the gateway knows about faults
    if not wire or not log:
        return tuple(wire or _without_repeated_result(log)), ()
    merged, open_calls, disagreements, twins = _merge_calls(wire, log)
    ids = {twin.id: event.id for twin, event in twins}
    sub_agents = {twin.sub_agent: event.sub_agent for twin, event in twins}
    for extra in open_calls:
        if has_tools:
            disagreements.append(f"{_name(extra)} is in the agent's log, but was not requested by the model")
        _insert(merged, replace(extra, sub_agent=sub_agents.get(extra.sub_agent, extra.sub_agent)))
    wire_text = "\n".join(event.said if isinstance(event, Aside) else event.text for event in wire if _is_text(event))
    for event in log:
        if isinstance(event, Said) and event.text.strip() and event.text.strip() not in wire_text:
            _insert(merged, event)
    for event in log:
        if isinstance(event, Asked):
            _insert_request(merged, replace(event, id=ids.get(event.id, event.id)))
    for event in log:
        if isinstance(event, Steered):
            _insert(merged, event)
    merged += [event for event in log if isinstance(event, Concluded)]
    return tuple(_without_repeated_result(merged)), tuple(disagreements)


def _merge_calls(
    wire: Sequence[Event], log: Sequence[Event]
) -> tuple[list[Event], list[Called], list[str], list[tuple[Called, Called]]]:
    """The wire's events with what the log adds to each call, the log's other calls, the contradictions, and each call
    of the log that is also on the wire, with that one. Ids differ between both, and the numbers of sub-agents.
    """
    open_calls = [event for event in log if isinstance(event, Called)]
    requested = [event for event in wire if isinstance(event, Called)]
    renamed = [event for event in open_calls if not any(_same_id(other, event.id) for other in requested)]
    merged: list[Event] = []
    disagreements = []
    twins = []
    for event in wire:
        if isinstance(event, Called):
            twin = _twin(event, open_calls) or _renamed_twin(
                event, [called for called in renamed if called in open_calls]
            )
            if twin is None and _should_be_in(log, event):
                disagreements.append(f"{_name(event)} was requested by the model, but is not in the agent's log")
            elif twin is not None:
                open_calls.remove(twin)
                twins.append((twin, event))
                event = _complete(event, twin)  # noqa: PLW2901 - the same event with more detail
        merged.append(event)
    return merged, open_calls, disagreements, twins


def _should_be_in(log: Sequence[Event], call: Called) -> bool:
    """Whether a call is missing in the log. Agents don't run malformed calls, and not all logs report sub-agents."""
    reported = any(isinstance(event, Called | Aside) and event.sub_agent for event in log)
    return not call.raw and not _asked_about(call, log) and (reported or not call.by_sub_agent)


def _is_text(event: Event) -> TypeGuard[Said | Aside]:
    return isinstance(event, Said | Aside)


def _without_repeated_result(events: Sequence[Event]) -> list[Event]:
    """The events; a result that the last message contains already is left out."""
    last = next((event.text for event in reversed(events) if isinstance(event, Said)), "")
    return [event for event in events if not isinstance(event, Concluded) or event.text.strip() != last.strip()]


def _twin(event: Called, candidates: Sequence[Called]) -> Called | None:
    by_id = [other for other in candidates if _same_id(event, other.id) and _may_be_named(other.tool, event.tool)]
    alike = [other for other in candidates if (other.tool, other.arguments) == (event.tool, event.arguments)]
    twins = sorted(by_id or alike, key=lambda other: (other.by_sub_agent != event.by_sub_agent, other not in alike))
    return next(iter(twins), None)


def _renamed_twin(event: Called, candidates: Sequence[Called]) -> Called | None:
    """The same call in a log with ids of its own, which may have a title or other names of arguments, too."""
    values = _values(event)
    same_values = [
        other
        for other in candidates
        if _values(other) == values and (other.tool == event.tool or (values and _may_be_named(other.tool, event.tool)))
    ]
    same_turn = [other for other in candidates if (other.tool, other.turn) == (event.tool, event.turn)]
    return next(iter(same_values or same_turn), None)


def _values(call: Called) -> list[str]:
    return sorted(map(repr, call.arguments.values()))


def _same_id(event: Called, log_id: str) -> bool:
    """Whether the ids match. Some agents prepend the tool's name: `write_file__call_1`."""
    return log_id == event.id or (bool(event.id) and log_id == f"{event.tool}__{event.id}")


def _asked_about(event: Called, log: Sequence[Event]) -> bool:
    return any(isinstance(event_in_log, Asked) and _same_id(event, event_in_log.id) for event_in_log in log)


def _may_be_named(log_name: str, name: str) -> bool:
    """Whether the log's name can mean this tool. Some logs have a title («Writing to notes.txt») instead of the tool's
    name, which never contains a blank; for a malformed call, the log may only have the id.
    """
    return log_name in {name, ""} or " " in log_name


def _complete(event: Called, twin: Called) -> Called:
    return replace(
        event,
        result=twin.result if event.result is None else event.result,
        succeeded=twin.succeeded if twin.succeeded is not None else event.succeeded,
        exit_code=twin.exit_code,
        seconds=twin.seconds,
        witness="both",
        permission=twin.permission,
    )


def _insert(events: list[Event], event: Event) -> None:
    """Insert an event after all others of its turn and of earlier turns."""
    place = sum(1 for other in events if other.turn <= event.turn)
    events.insert(place, event)


def _insert_request(events: list[Event], request: Asked) -> None:
    """Insert a request for permission before its call."""
    for place, event in enumerate(events):
        if isinstance(event, Called) and request.id and _same_id(event, request.id):
            request_of_call = replace(request, turn=event.turn, id=event.id, tool=event.tool, kind=event.kind)
            events[place : place + 1] = [request_of_call, replace(event, permission=request.answer)]
            return
    _insert(events, request)


def _name(event: Called) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in event.arguments.items())
    return f"{one_line(event.tool, width=40)}({one_line(arguments, width=80)})"
