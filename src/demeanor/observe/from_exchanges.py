"""Convert the exchanges that the gateway recorded into events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeGuard

from demeanor.core.values.exchange import Exchange
from demeanor.core.values.fault import DONE, kind_in
from demeanor.core.values.messages import Text, Thinking, ToolCall, ToolResult
from demeanor.core.values.trajectory import (
    Aside,
    Called,
    Event,
    Faulted,
    Kind,
    ModelFailed,
    Said,
    Thought,
    deferred_call,
    kind_of,
)
from demeanor.observe.conversations import Conversations, Thread
from demeanor.observe.request_text import RequestText


def events_of(conversations: Conversations, kinds: Mapping[str, Kind]) -> tuple[Event, ...]:
    """The events in order. A turn is one answer in the main conversation.

    Tool calls of sub-agents belong to the turn in which they happen; their messages don't reach the user. Text begins
    with the model's answer, a tool call when the answer is complete: agents don't run calls before.
    """
    events: list[Event] = []
    turn = 0
    main = {exchange.number for exchange in conversations.main}
    answered = answers(conversations.main).union(*(answers(thread.exchanges) for thread in conversations.threads))
    for exchange in conversations.exchanges:
        thread = conversations.thread_of.get(exchange.number)
        if exchange.fault is not None:
            events.append(_faulted(exchange, exchange.fault, turn + 1))
        if exchange.number in main or thread is not None:
            _add_results(events, exchange, thread.number if thread else 0)
        if exchange.number not in main:
            events += _outside_main(exchange, turn, kinds, thread, counted=exchange.number in answered)
            continue
        if exchange.response is None or exchange.error is not None:
            events += _failure(exchange, turn + 1)
        if exchange.response is not None and exchange.number in answered:
            turn += 1
            events += [_event(exchange, part, turn, kinds) for part in exchange.response.parts if _has_content(part)]
    return tuple(events)


def main_answers(conversations: Conversations) -> tuple[Exchange, ...]:
    """The exchanges whose answers are the turns of the trajectory, in order: turn 1, 2, 3 …"""
    counted = answers(conversations.main)
    return tuple(exchange for exchange in conversations.main if exchange.number in counted)


def answers(exchanges: Sequence[Exchange]) -> frozenset[int]:
    """The numbers of the exchanges whose answers count, without those that the agent discarded and asked again."""
    return frozenset(
        exchange.number
        for index, exchange in enumerate(exchanges)
        if exchange.response is not None and not _discarded(exchange, exchanges[index + 1 :])
    )


def _discarded(exchange: Exchange, later: Sequence[Exchange]) -> bool:
    """Whether the agent continued the conversation without this broken answer."""
    if exchange.error is None and exchange.fault is None:
        return False
    messages = exchange.request.messages
    for other in later:
        later_messages = other.request.messages
        if later_messages[: len(messages)] == messages:
            return len(later_messages) == len(messages) or later_messages[len(messages)].role != "assistant"
    return False


def _faulted(exchange: Exchange, rule: str, turn: int) -> Faulted:
    kind = kind_in(rule)
    done = f": {DONE[kind]}" if kind else ""
    return Faulted(turn=turn, kind=kind or rule, detail=f"{rule}{done}", at=_asked_at(exchange))


def _asked_at(exchange: Exchange) -> float | None:
    return _moment(exchange, exchange.started)


def _answered_at(exchange: Exchange) -> float | None:
    return _moment(exchange, exchange.started if exchange.first_byte is None else exchange.first_byte)


def _ended_at(exchange: Exchange) -> float | None:
    return _moment(exchange, exchange.ended)


def _moment(exchange: Exchange, seconds: float) -> float | None:
    """A time of the exchange in milliseconds' precision; None if its times were not recorded."""
    return round(seconds, 3) if exchange.ended else None


def _has_content(part: object) -> bool:
    return isinstance(part, ToolCall) or (isinstance(part, Text | Thinking) and bool(_shown(part).strip()))


def _shown(part: Text | Thinking) -> str:
    return part.text if isinstance(part, Text) else part.text or "\n".join(part.summary)


def _event(exchange: Exchange, part: object, turn: int, kinds: Mapping[str, Kind]) -> Event:
    if isinstance(part, Text):
        return Said(turn=turn, text=part.text, at=_answered_at(exchange))
    if isinstance(part, Thinking):
        return Thought(turn=turn, text=_shown(part), at=_answered_at(exchange))
    if isinstance(part, ToolCall):
        return _called(exchange, part, turn, kinds)
    raise TypeError(f"no event for a {type(part).__name__}")


def _called(exchange: Exchange, part: ToolCall, turn: int, kinds: Mapping[str, Kind]) -> Called:
    tool, arguments = deferred_call(part.name, part.arguments or {})
    return Called(
        turn=turn,
        id=part.id,
        tool=tool,
        kind=kind_of(tool, kinds),
        arguments=arguments,
        raw=part.raw if part.arguments is None else "",
        at=_ended_at(exchange),
    )


def _add_results(events: list[Event], exchange: Exchange, sub_agent: int) -> None:
    """Fill in the results of tool calls, which the agent sends with the next request of the same conversation.

    Ids are unique within a conversation only: some servers count calls, so a sub-agent's first call has the same id.
    """
    results = {
        part.call_id: part
        for message in exchange.request.messages
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    for index, event in enumerate(events):
        if _awaits_result(event, sub_agent) and event.id in results:
            result = results[event.id]
            succeeded = None if result.is_error is None else not result.is_error
            events[index] = replace(event, result=result.text, succeeded=succeeded)


def _awaits_result(event: Event, sub_agent: int) -> TypeGuard[Called]:
    return isinstance(event, Called) and event.result is None and event.sub_agent == sub_agent


def _outside_main(
    exchange: Exchange, turn: int, kinds: Mapping[str, Kind], thread: Thread | None, *, counted: bool
) -> Iterator[Event]:
    """The events outside the main conversation: the request itself, and the tool calls of a sub-agent."""
    parts = exchange.response.parts if exchange.response is not None else ()
    text = "\n".join(part.text for part in parts if isinstance(part, Text))
    at = _asked_at(exchange)
    if thread is None:
        yield Aside(turn=turn, purpose=RequestText(exchange.request).purpose, said=text, at=at)
        return
    aside = Aside(turn=turn, purpose=thread.purpose, said=text, sub_agent=thread.number, at=at)
    if exchange is thread.exchanges[0]:
        aside = replace(aside, prompt=thread.prompt, started_by=thread.started_by)
    yield aside
    for part in parts if counted else ():
        if isinstance(part, ToolCall):
            call = _called(exchange, part, max(turn, 1), kinds)
            yield replace(call, by_sub_agent=True, sub_agent=thread.number)


def _failure(exchange: Exchange, turn: int) -> tuple[Event, ...]:
    error, at = exchange.error, _asked_at(exchange)
    if error is None:
        return (ModelFailed(turn=turn, status=None, reason="cut", message="no answer was completed", at=at),)
    return (ModelFailed(turn=turn, status=error.status, reason=error.reason, message=error.message, at=at),)
