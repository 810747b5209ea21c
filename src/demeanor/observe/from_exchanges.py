"""The story as the gateway saw it: exchanges → events."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from demeanor.core.exchange import Exchange
from demeanor.core.fault import DONE, kind_in
from demeanor.core.messages import Text, Thinking, ToolCall, ToolResult
from demeanor.core.trajectory import Aside, Called, Event, Faulted, Kind, ModelFailed, Said, Thought, kind_of
from demeanor.observe.conversations import Conversations, purpose


def tell(lines: Conversations, kinds: Mapping[str, Kind]) -> tuple[Event, ...]:
    """What was said, thought, called, refused and broken, in order. A turn is one answer in the conversation itself.

    What sub-agents call is told within the turn in which they work; what they say is not said to the user.
    """
    events: list[Event] = []
    turn = 0
    main = {exchange.number for exchange in lines.main}
    working = {exchange.number for exchange in lines.sub_agents}
    answered = answers(lines.main) | answers(lines.sub_agents)
    for exchange in lines.exchanges:
        if exchange.fault is not None:
            events.append(_faulted(exchange.fault, turn + 1))
        if exchange.number in main or exchange.number in working:
            _note_results(events, exchange)
        if exchange.number not in main:
            events += _beside(exchange, turn, kinds, working=exchange.number in working, heard=answered)
            continue
        if exchange.response is None or exchange.error is not None:
            events += _failure(exchange, turn + 1)
        if exchange.response is not None and exchange.number in answered:
            turn += 1
            events += [_event(part, turn, kinds) for part in exchange.response.parts if _tells(part)]
    return tuple(events)


def answers(line: Sequence[Exchange]) -> frozenset[int]:
    """The numbers of the exchanges whose answers count; not those that the agent threw away to ask again."""
    return frozenset(
        exchange.number
        for place, exchange in enumerate(line)
        if exchange.response is not None and not _thrown_away(exchange, line[place + 1 :])
    )


def _thrown_away(exchange: Exchange, later: Sequence[Exchange]) -> bool:
    """Whether a broken answer is missing where the agent went on with the conversation."""
    if exchange.error is None and exchange.fault is None:
        return False
    said = exchange.request.messages
    for other in later:
        again = other.request.messages
        if again[: len(said)] == said:
            return len(again) == len(said) or again[len(said)].role != "assistant"
    return False


def _faulted(rule: str, turn: int) -> Faulted:
    kind = kind_in(rule)
    done = f": {DONE[kind]}" if kind else ""
    return Faulted(turn=turn, kind=kind or rule, detail=f"{rule}{done}")


def _tells(part: object) -> bool:
    return isinstance(part, ToolCall) or (isinstance(part, Text | Thinking) and bool(_shown(part).strip()))


def _shown(part: Text | Thinking) -> str:
    return part.text if isinstance(part, Text) else part.text or "\n".join(part.summary)


def _event(part: object, turn: int, kinds: Mapping[str, Kind]) -> Event:
    if isinstance(part, Text):
        return Said(turn=turn, text=part.text)
    if isinstance(part, Thinking):
        return Thought(turn=turn, text=_shown(part))
    if isinstance(part, ToolCall):
        raw = part.raw if part.arguments is None else ""
        kind = kind_of(part.name, kinds)
        return Called(turn=turn, id=part.id, tool=part.name, kind=kind, arguments=part.arguments or {}, raw=raw)
    raise TypeError(f"no event for a {type(part).__name__}")


def _note_results(events: list[Event], exchange: Exchange) -> None:
    """Fill in what the tools answered, as the agent tells it to the model with its next request."""
    results = {
        part.call_id: part
        for message in exchange.request.messages
        for part in message.parts
        if isinstance(part, ToolResult)
    }
    for index, event in enumerate(events):
        if isinstance(event, Called) and event.result is None and event.id in results:
            found = results[event.id]
            succeeded = None if found.is_error is None else not found.is_error
            events[index] = replace(event, result=found.text, succeeded=succeeded)


def _beside(
    exchange: Exchange, turn: int, kinds: Mapping[str, Kind], *, working: bool, heard: Collection[int]
) -> Iterator[Event]:
    """What happened beside the conversation: a note of the request, and the tools that a sub-agent called."""
    parts = exchange.response.parts if exchange.response is not None else ()
    said = "\n".join(part.text for part in parts if isinstance(part, Text))
    yield Aside(turn=turn, purpose="sub-agent" if working else purpose(exchange.request), said=said)
    for part in parts if working and exchange.number in heard else ():
        if isinstance(part, ToolCall):
            event = _event(part, max(turn, 1), kinds)
            yield replace(event, by_sub_agent=True)  # type: ignore[arg-type]


def _failure(exchange: Exchange, turn: int) -> tuple[Event, ...]:
    error = exchange.error
    if error is None:
        return (ModelFailed(turn=turn, status=None, reason="cut", message="no answer was completed"),)
    return (ModelFailed(turn=turn, status=error.status, reason=error.reason, message=error.message),)
