"""Two trajectories told side by side, aligned by what was done."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from demeanor.core.record import Record
from demeanor.core.text import one_line
from demeanor.core.trajectory import Called, Event, Faulted, ModelFailed, Said
from demeanor.core.trajectory_diff import Pair, align, first_divergence
from demeanor.render.terminal import Screen

_MOST = 600
_NARROW = 72


def trace_diff(
    left: tuple[Record, Sequence[Event]], right: tuple[Record, Sequence[Event]], screen: Screen, *, full: bool = False
) -> str:
    """Both, step by step: what they share, where they part, and what each did then."""
    pairs = align(left[1], right[1])
    parting = first_divergence(pairs)
    lines = [*_head("A", left[0]), *_head("B", right[0]), "", _summary(pairs, parting), ""]
    lines += _side_by_side(pairs, parting, screen, _MOST * 20 if full else _MOST)
    return "\n".join(screen.safe(line) for line in lines)


def _head(letter: str, record: Record) -> Iterator[str]:
    yield f"{letter}  {record.trial}: {record.verdict.outcome.upper()}"
    reason = getattr(record.verdict, "reason", "")
    if reason:
        yield f"   {one_line(reason, width=300)}"


def _summary(pairs: Sequence[Pair], parting: int | None) -> str:
    if parting is None:
        return f"They never part: all {len(pairs)} steps are the same."
    if parting == 0:
        return "They part at the first step."
    return f"They part at step {parting + 1}, after {parting} that are the same."


def _side_by_side(pairs: Sequence[Pair], parting: int | None, screen: Screen, most: int) -> Iterator[str]:
    if screen.width < _NARROW:
        yield from _one_below_the_other(pairs, parting, screen, most)
        return
    column = (screen.width - 9) // 2
    for place, pair in enumerate(pairs):
        mark = "►" if place == parting else " " if pair.same else "≠"
        cells = (_cell(pair.left, column, most), _cell(pair.right, column, most))
        for row in range(max(map(len, cells))):
            number = f"{place + 1:>3} {mark}" if row == 0 else "     "
            left, right = (cell[row] if row < len(cell) else "" for cell in cells)
            yield f"{number} {left:<{column}} │ {right}".rstrip()


def _one_below_the_other(pairs: Sequence[Pair], parting: int | None, screen: Screen, most: int) -> Iterator[str]:
    for place, pair in enumerate(pairs):
        mark = "►" if place == parting else " " if pair.same else "≠"
        sides = (("  ", pair.left),) if pair.same else (("A ", pair.left), ("B ", pair.right))
        for row, (letter, event) in enumerate(sides):
            for index, line in enumerate(_cell(event, screen.width - 8, most)):
                number = f"{place + 1:>3} {mark}" if row == index == 0 else "     "
                yield f"{number} {letter if index == 0 else '  '}{line}".rstrip()


def _cell(event: Event | None, width: int, most: int) -> list[str]:
    return textwrap.wrap(one_line(told_step(event), width=most), width, break_on_hyphens=False) or [""]


def told_step(event: Event | None) -> str:
    """A step in words, however long. Hostile text."""
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
    return event.type
