"""A trajectory told to a person, step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from demeanor.core.record import Record
from demeanor.core.text import opening, printable
from demeanor.core.trajectory import Aside, Asked, Called, Event, Faulted, ModelFailed, Said, Thought
from demeanor.core.verdict import Pass

_MARKS = {True: "ok", False: "failed", None: "no word"}


def trace_text(record: Record, events: Sequence[Event], *, full: bool = False) -> str:
    """Verdict first, then every step; long texts are cut unless `full`."""
    return "\n".join((*_head(record), *_steps(events, lines=10**6 if full else 12), *_tail(record)))


def _head(record: Record) -> Iterator[str]:
    attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
    yield f"{record.trial}{attempt}: {record.verdict.outcome.upper()}"
    if not isinstance(record.verdict, Pass):
        yield _indent(opening(record.verdict.reason, lines=30))
    yield ""


def _steps(events: Sequence[Event], *, lines: int) -> Iterator[str]:
    turn = 0
    if not events:
        yield "(no steps are known)"
    for event in events:
        if event.turn != turn:
            turn = event.turn
            yield f"turn {turn}"
        yield _step(event, lines)


def _step(event: Event, lines: int) -> str:
    if isinstance(event, Said):
        return f"  said\n{_indent(opening(event.text, lines=lines), 6)}"
    if isinstance(event, Thought):
        return f"  thought\n{_indent(opening(event.text, lines=lines), 6)}"
    if isinstance(event, ModelFailed):
        status = f" (HTTP {event.status})" if event.status else ""
        return f"  model failed: {event.reason}{status}\n{_indent(opening(event.message, lines=lines), 6)}"
    if isinstance(event, Faulted):
        return f"  fault injected: {printable(event.kind)}\n{_indent(opening(event.detail, lines=lines), 6)}"
    if isinstance(event, Aside):
        said = f"\n{_indent(opening(event.said, lines=lines), 6)}" if event.said.strip() else ""
        return f"  beside the conversation: {printable(event.purpose)}{said}"
    if isinstance(event, Asked):
        return f"  asked for permission: {printable(event.tool)} [{event.kind}] → {event.answer}"
    return _call(event, lines)


def _call(event: Called, lines: int) -> str:
    seconds = f", {event.seconds:.2f} s" if event.seconds is not None else ""
    witness = "" if event.witness == "both" else f", seen on the {event.witness} only"
    witness += ", by a sub-agent" if event.by_sub_agent else ""
    told = [f"  {printable(event.tool)} [{event.kind}] → {_MARKS[event.succeeded]}{seconds}{witness}"]
    for name, value in event.arguments.items():
        text = value if isinstance(value, str) else json.dumps(value, default=str)
        told.append(_argument(printable(name), opening(text, lines=lines)))
    if event.raw:
        told.append(_argument("(malformed arguments)", opening(event.raw, lines=lines)))
    if event.result:
        told.append(_indent("⤷ " + opening(event.result, lines=lines).replace("\n", "\n  "), 6))
    return "\n".join(told)


def _argument(name: str, text: str) -> str:
    return f"      {name}: {text}" if "\n" not in text else f"      {name}:\n{_indent(text, 8)}"


def _tail(record: Record) -> Iterator[str]:
    yield ""
    spent = record.spent
    tokens = f"{spent.tokens} tokens" if spent.tokens is not None else "tokens unknown"
    cost = f"${spent.cost_usd:.4f}" if spent.cost_usd is not None else "cost unknown"
    yield f"{spent.turns} turns, {tokens}, {cost}, {spent.seconds:.1f} s"
    for note in record.notes:
        yield f"note: {printable(note)}"


def _indent(text: str, by: int = 2) -> str:
    return "\n".join(" " * by + line for line in text.splitlines())
