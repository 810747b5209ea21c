"""Trials as text: one step by step (`trace_text`), or two side by side (`trace_diff`)."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from demeanor.core.text.wording import all_of, count, one_line, opening, printable
from demeanor.core.values.record import Record
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
from demeanor.core.values.verdict import Pass
from demeanor.render import Screen, fitted
from demeanor.results import Pair, align, first_divergence

_SECRET_MARK = re.compile("‹redacted:[^›]*›")
_LONGEST_STEP = 600
"""Characters of a step that are shown side by side."""
_NARROW = 72
"""Below this width the trials are shown one below the other."""


def trace_text(record: Record, events: Sequence[Event], *, replies: Sequence[UserTurn] = (), full: bool = False) -> str:
    """Return the verdict of a trial, then every step, with the user's replies. Long texts are cut unless `full`."""
    lines = 10**6 if full else 12
    steps = _steps(events, replies, lines=lines) if events else _printed(record, lines)
    return "\n".join((*_head(record), *steps, *_tail(record)))


def _head(record: Record) -> Iterator[str]:
    attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
    yield f"{record.trial}{attempt}: {record.verdict.outcome.upper()}"
    if not isinstance(record.verdict, Pass):
        yield _indent(opening(record.verdict.reason, lines=30))
    for finding in record.verdict.findings:
        if finding.answer == "yes" and finding.reason:
            yield _indent(opening(f"{finding.check}: {finding.reason}", lines=30))
    yield ""


def _steps(events: Sequence[Event], replies: Sequence[UserTurn], *, lines: int) -> Iterator[str]:
    turn = 0
    placed, others = place_replies(events, replies)
    callers = caller_names(events)
    for event in events:
        if event.turn != turn:
            turn = event.turn
            yield f"turn {turn}"
        yield _step(event, callers, lines)
        if id(event) in placed:
            yield _reply(placed[id(event)], lines)
    yield from (_reply(turn, lines) for turn in others)


def _printed(record: Record, lines: int) -> Iterator[str]:
    """What an agent without recorded steps printed."""
    outputs = {"printed": record.stdout, "printed on stderr": record.stderr}
    for title, output in outputs.items():
        if output.strip():
            yield f"  {title}\n{_indent(opening(output, lines=lines), 6)}"
    if not any(map(str.strip, outputs.values())):
        yield "(no steps recorded, and nothing printed)"


def place_replies(
    events: Sequence[Event], replies: Sequence[UserTurn]
) -> tuple[dict[int, UserTurn], tuple[UserTurn, ...]]:
    """The user's replies by the id of the event that each answers, and those to messages that are not among them."""
    placed, waiting = {}, list(replies)
    for event in events:
        if waiting and isinstance(event, Said) and _same(event.text, waiting[0].to):
            placed[id(event)] = waiting.pop(0)
    return placed, tuple(waiting)


def _same(text: str, other: str) -> bool:
    """Whether two texts are the same; a secret in them may have different marks."""
    return _SECRET_MARK.sub("", text).strip() == _SECRET_MARK.sub("", other).strip()


def _reply(turn: UserTurn, lines: int) -> str:
    return f"  the user replied\n{_indent(opening(turn.said or '', lines=lines), 6)}"


def caller_names(events: Sequence[Event]) -> dict[int, str]:
    """The name of each sub-agent by its number: that of its requests. What an agent does for itself has calls too."""
    asides = [event for event in events if isinstance(event, Aside) and event.sub_agent]
    return {event.sub_agent: aside_name(event) for event in asides}


def aside_name(event: Aside) -> str:
    """`sub-agent 1`, `side request: title`. Hostile text."""
    kind = "" if event.purpose == "sub-agent" else "side request: "
    number = f" {event.sub_agent}" if event.sub_agent else ""
    return f"{kind}{printable(event.purpose)}{number}"


def called_by(event: Called, callers: Mapping[int, str]) -> str:
    """`by sub-agent 1`; empty for the agent itself."""
    if not event.by_sub_agent:
        return ""
    unnamed = f"sub-agent {event.sub_agent or ''}".rstrip()
    return f"by {callers.get(event.sub_agent, unnamed)}"


def _step(event: Event, callers: Mapping[int, str], lines: int) -> str:
    if isinstance(event, Said):
        return f"  said\n{_indent(opening(event.text, lines=lines), 6)}"
    if isinstance(event, Thought):
        return f"  thought\n{_indent(opening(event.text, lines=lines), 6)}"
    if isinstance(event, ModelFailed):
        status = f" (HTTP {event.status})" if event.status else ""
        return f"  model failed: {event.reason}{status}\n{_indent(opening(event.message, lines=lines), 6)}"
    if isinstance(event, Faulted):
        return f"  fault injected: {printable(event.kind)}\n{_indent(opening(event.detail, lines=lines), 6)}"
    if isinstance(event, Steered):
        said = f"\n{_indent(opening(event.text, lines=lines), 6)}" if event.text else ""
        return f"  {steer_title(event)}{said}"
    if isinstance(event, Aside):
        said = f"\n{_indent(opening(event.said, lines=lines), 6)}" if event.said.strip() else ""
        return f"  {aside_name(event)}{said}"
    if isinstance(event, Concluded):
        return f"  result\n{_indent(opening(event.text, lines=lines), 6)}"
    if isinstance(event, Asked):
        return f"  asked for permission: {printable(event.tool)} [{event.kind}] → {event.answer}"
    return _call(event, callers, lines)


_DELIVERIES = {
    "hint": "the user gave a hint",
    "interrupt": "the user interrupted",
    "prompt": "the user gave a hint when the turn had ended",
}


def steer_title(event: Steered) -> str:
    """How the user said something while the agent worked. Hostile text."""
    return f"{_DELIVERIES[event.delivery]} (after {printable(event.after)})"


def _call(event: Called, callers: Mapping[int, str], lines: int) -> str:
    seconds = f", {event.seconds:.2f} s" if event.seconds is not None else ""
    witness = "" if event.witness == "both" else f", seen on the {event.witness} only"
    caller = called_by(event, callers)
    witness += f", {caller}" if caller else ""
    lines_out = [f"  {printable(event.tool)} [{event.kind}] → {_outcome(event)}{seconds}{witness}"]
    for name, value in event.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        lines_out.append(_argument(printable(name), opening(text, lines=lines)))
    if event.raw:
        lines_out.append(_argument("(malformed arguments)", opening(event.raw, lines=lines)))
    if event.result:
        lines_out.append(_indent("⤷ " + opening(event.result, lines=lines).replace("\n", "\n  "), 6))
    return "\n".join(lines_out)


def _outcome(call: Called) -> str:
    if call.succeeded is None:
        return "no result recorded" if call.result is None else "outcome unknown"
    return "ok" if call.succeeded else "failed"


def _argument(name: str, text: str) -> str:
    return f"      {name}: {text}" if "\n" not in text else f"      {name}:\n{_indent(text, 8)}"


def _tail(record: Record) -> Iterator[str]:
    yield ""
    spent = record.spent
    tokens = f"{spent.tokens} tokens" if spent.tokens is not None else "tokens unknown"
    cost = f"${spent.cost_usd:.4f}" if spent.cost_usd is not None else "cost unknown"
    yield f"{count(spent.turns, 'turn')}, {tokens}, {cost}, {spent.seconds:.1f} s"
    for note in record.notes:
        yield f"note: {printable(note)}"


def _indent(text: str, by: int = 2) -> str:
    return "\n".join(" " * by + line for line in text.splitlines())


def trace_diff(
    left: tuple[Record, Sequence[Event]],
    right: tuple[Record, Sequence[Event]],
    screen: Screen,
    *,
    explanation: str = "",
    full: bool = False,
) -> str:
    """Return two trials side by side: the steps that they share, where they diverge, and what each did then.

    `explanation` says what explains it, if the first failed and the second passed.
    """
    pairs = align(left[1], right[1])
    divergence = first_divergence(pairs)
    head = [*_diff_head("A", left[0]), *_diff_head("B", right[0]), "", _summary(pairs, divergence)]
    head += [f"A: {explanation}."] if explanation else []
    lines = [*fitted("\n".join(head), screen.width).splitlines(), ""]
    lines += _side_by_side(pairs, divergence, screen, _LONGEST_STEP * 20 if full else _LONGEST_STEP)
    return "\n".join(screen.safe(line) for line in lines)


def _diff_head(letter: str, record: Record) -> Iterator[str]:
    yield f"{letter}  {record.trial}: {record.verdict.outcome.upper()}"
    reason = getattr(record.verdict, "reason", "")
    if reason:
        yield f"   {one_line(reason, width=300)}"


def _summary(pairs: Sequence[Pair], divergence: int | None) -> str:
    if divergence is None:
        return f"They do not diverge: {all_of(len(pairs), 'step')} {'is' if len(pairs) == 1 else 'are'} the same."
    if divergence == 0:
        return "They diverge at the first step."
    return f"They diverge at step {divergence + 1}, after {count(divergence, 'identical step')}."


def _side_by_side(pairs: Sequence[Pair], divergence: int | None, screen: Screen, longest: int) -> Iterator[str]:
    if screen.width < _NARROW:
        yield from _stacked(pairs, divergence, screen, longest)
        return
    column = (screen.width - 9) // 2
    for index, pair in enumerate(pairs):
        mark = _mark(pair, here=index == divergence)
        cells = (_cell(pair.left, column, longest), _cell(pair.right, column, longest))
        for row in range(max(map(len, cells))):
            number = f"{index + 1:>3} {mark}" if row == 0 else "     "
            left, right = (cell[row] if row < len(cell) else "" for cell in cells)
            yield f"{number} {left:<{column}} │ {right}".rstrip()


def _mark(pair: Pair, *, here: bool) -> str:
    """The mark of a step; `here` is where the trials diverge."""
    if here:
        return "►"
    return " " if pair.same else "≠"


def _stacked(pairs: Sequence[Pair], divergence: int | None, screen: Screen, longest: int) -> Iterator[str]:
    for index, pair in enumerate(pairs):
        mark = _mark(pair, here=index == divergence)
        sides = (("  ", pair.left),) if pair.same else (("A ", pair.left), ("B ", pair.right))
        for row, (letter, event) in enumerate(sides):
            for line_number, line in enumerate(_cell(event, screen.width - 8, longest)):
                number = f"{index + 1:>3} {mark}" if row == line_number == 0 else "     "
                yield f"{number} {letter if line_number == 0 else '  '}{line}".rstrip()


def _cell(event: Event | None, width: int, longest: int) -> list[str]:
    return textwrap.wrap(one_line(describe_step(event), width=longest), width, break_on_hyphens=False) or [""]


def describe_step(event: Event | None) -> str:
    """Describe a step, without cutting it. Hostile text."""
    match event:
        case None:
            return "·"
        case Called():
            arguments = ", ".join(f"{name}={value!r}" for name, value in event.arguments.items()) or event.raw
            word = {True: "ok", False: "failed", None: ""}[event.succeeded]
            return f"{event.tool}({arguments})" + (f" → {word}" if word else "")
        case Said():
            return f"said: {event.text}"
        case ModelFailed():
            return f"the model failed: {event.reason} {event.status or ''}"
        case Faulted():
            return f"fault injected: {event.detail}"
        case Steered():
            return f"{steer_title(event)}: {event.text}".removesuffix(": ")
    return event.type
