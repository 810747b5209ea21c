"""The steps of a trial as rows: aligned with a passing trial, each with what unfolds below it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from demeanor.core.text.wording import one_line, opening
from demeanor.core.values.trajectory import (
    Aside,
    Asked,
    Called,
    Concluded,
    Event,
    Faulted,
    ModelFailed,
    Said,
    Steered,
    Thought,
)
from demeanor.core.values.user import UserTurn
from demeanor.render import duration
from demeanor.reports.trial.divergence import find_divergence
from demeanor.reports.trial.render import aside_name, called_by, caller_names, place_replies, steer_title
from demeanor.results import Pair, TrialSteps, align
from demeanor.store.history import ExchangeTime

MOST_STEPS = 150
_TITLE = 160
_LINES, _WIDTH = 24, 300
_MOST_ARGUMENTS = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class StepCell:
    """One step of one trial."""

    kind: str
    """What it is: the tool's kind, `said`, `error` or `fault`."""

    tool: str
    """The tool's name, or what it is in a word."""

    title: str
    """What it is about, in a line. Hostile text."""

    state: str = ""
    """`ok`, `failed` or empty."""

    parts: tuple[tuple[str, str], ...] = ()
    """What unfolds: label and text. Hostile text."""

    reply: str = ""
    """What the user replied to it. Hostile text."""

    at: float | None = None
    """When it began, in seconds since the start of the trial; None if unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRow:
    """One row: a step of this trial beside the step of the passing one."""

    number: int
    """1, 2, 3 …"""

    left: StepCell | None
    """This trial's step."""

    right: StepCell | None
    """The passing trial's step; None also if there is no passing trial."""

    same: bool
    """Whether both did the same."""

    divergence: bool = False
    """Whether this is the first row that differs."""

    turn: int = 0
    """The model answer that the step belongs to."""

    usage: str = ""
    """Tokens and latency of the model answer, with its first step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AlignedSteps:
    """All rows."""

    rows: tuple[StepRow, ...]
    """The rows."""

    left_out: int
    """Rows that are not shown."""

    beside: bool
    """Whether a passing trial stands beside it."""

    replies: tuple[str, ...] = ()
    """What the user replied to messages that are not among the rows. Hostile text."""

    asides: tuple[StepCell, ...] = field(default=())
    """Side requests and sub-agents, which are not part of the conversation."""


def step_rows(own: TrialSteps, passing: TrialSteps | None, times: Sequence[ExchangeTime]) -> AlignedSteps:
    """Align the steps of a trial with those of a passing one, if there is one."""
    events = own.events or ()
    others = passing.events or () if passing else ()
    beside = passing is not None and passing.events is not None
    pairs: Sequence[Pair] = align(events, others if beside else events)
    divergence = find_divergence(own, passing)
    left_notes, right_notes = _notes(events), _notes(others)
    replies, further = place_replies(events, own.replies)
    other_replies, _ = place_replies(others, passing.replies if passing else ())
    callers, other_callers = caller_names(events), caller_names(others)
    usage = _usage(events, times)
    rows, seen = [], set()
    for index, pair in enumerate(pairs[:MOST_STEPS]):
        turn = pair.left.turn if pair.left else 0
        rows.append(
            StepRow(
                number=index + 1,
                left=_cell(pair.left, left_notes, replies, callers),
                right=_cell(pair.right, right_notes, other_replies, other_callers) if beside else None,
                same=pair.same,
                divergence=divergence is not None and divergence.step == index + 1,
                turn=turn,
                usage=usage.get(turn, "") if turn not in seen else "",
            )
        )
        seen.add(turn)
    asides = tuple(_aside(event) for event in events if isinstance(event, Aside))
    return AlignedSteps(
        rows=tuple(rows),
        left_out=max(0, len(pairs) - MOST_STEPS),
        beside=beside,
        replies=tuple(_cut(turn.said or "") for turn in further[:MOST_STEPS]),
        asides=asides[:MOST_STEPS],
    )


def _notes(events: Sequence[Event]) -> dict[int, list[tuple[str, str]]]:
    """Events that are shown with the step after them: thinking and requests for permission. By id of the event."""
    notes: dict[int, list[tuple[str, str]]] = {}
    waiting: list[tuple[str, str]] = []
    for event in events:
        if isinstance(event, Thought):
            waiting.append(("thinking", event.text))
        elif isinstance(event, Asked):
            waiting.append(("permission", f"{event.tool}: {event.answer}"))
        elif not isinstance(event, Aside | Concluded):
            notes[id(event)] = waiting
            waiting = []
    return notes


def _usage(events: Sequence[Event], times: Sequence[ExchangeTime]) -> dict[int, str]:
    """Tokens and latency by turn, where each turn is exactly one exchange."""
    turns = {event.turn for event in events if not isinstance(event, Aside)}
    if not times or turns != set(range(1, len(times) + 1)):
        return {}
    return {
        turn: f"{duration(exchange.ended - exchange.started)}"
        + (
            f", {exchange.spent.input_tokens or 0:,} → {exchange.spent.output_tokens or 0:,} tokens"
            if exchange.spent.tokens
            else ""
        )
        for turn, exchange in enumerate(times, 1)
    }


def _cell(
    event: Event | None,
    notes: dict[int, list[tuple[str, str]]],
    replies: Mapping[int, UserTurn],
    callers: Mapping[int, str],
) -> StepCell | None:
    if event is None:
        return None
    reply = replies[id(event)].said or "" if id(event) in replies else ""
    return replace(_described(event, notes, callers), at=event.at, reply=_cut(reply))


def _described(event: Event, notes: dict[int, list[tuple[str, str]]], callers: Mapping[int, str]) -> StepCell:
    before = tuple((label, _cut(text)) for label, text in notes.get(id(event), ()))
    match event:
        case Called():
            return _call(event, before, callers)
        case Said():
            return StepCell(
                kind="said", tool="says", title=_line(event.text), parts=(*before, ("text", _cut(event.text)))
            )
        case ModelFailed():
            status = f" (HTTP {event.status})" if event.status else ""
            return StepCell(
                kind="error",
                tool="model error",
                title=_line(f"{event.reason}{status}"),
                state="failed",
                parts=(*before, ("message", _cut(event.message))),
            )
        case Faulted():
            return StepCell(
                kind="fault", tool="fault", title=_line(event.kind), parts=(("detail", _cut(event.detail)),)
            )
        case Steered():
            return StepCell(
                kind="said", tool=steer_title(event), title=_line(event.text), parts=(("text", _cut(event.text)),)
            )
    return StepCell(kind="other", tool=event.type, title="")


def _call(event: Called, before: tuple[tuple[str, str], ...], callers: Mapping[int, str]) -> StepCell:
    arguments = [
        (name, value if isinstance(value, str) else json.dumps(value, default=str))
        for name, value in list(event.arguments.items())[:_MOST_ARGUMENTS]
    ]
    parts = [*before, *((one_line(name, width=60), _cut(text)) for name, text in arguments)]
    if event.raw:
        parts.append(("malformed arguments", _cut(event.raw)))
    if event.result is not None:
        parts.append(("result", _cut(event.result) or "(empty)"))
    facts = [f"took {event.seconds:.2f} s" if event.seconds is not None else ""]
    facts.append(f"seen on the {event.witness} only" if event.witness != "both" else "")
    facts.append(called_by(event, callers))
    facts.append(f"permission: {event.permission}" if event.permission else "")
    said = ", ".join(filter(None, facts))
    if said:
        parts.append(("note", said))
    return StepCell(
        kind=event.kind.value,
        tool=one_line(event.tool, width=60),
        title=_line(arguments[0][1] if arguments else event.raw),
        state={True: "ok", False: "failed", None: ""}[event.succeeded],
        parts=tuple(parts),
    )


def _aside(event: Aside) -> StepCell:
    parts = tuple((label, _cut(text)) for label, text in (("task", event.prompt), ("answer", event.said)) if text)
    return StepCell(kind="aside", tool=one_line(aside_name(event)), title=_line(event.said), parts=parts, at=event.at)


def _line(text: str) -> str:
    return one_line(text, width=_TITLE)


def _cut(text: str) -> str:
    return opening(text, lines=_LINES, width=_WIDTH)
