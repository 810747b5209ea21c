"""A triage for a person in front of a terminal: the largest group first, each with what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.text import Text

from demeanor.commands.triage.report import Group, Triage
from demeanor.core.text import count, one_line, opening
from demeanor.render.table import labelled, wrapped
from demeanor.render.terminal import Screen, paint

_REASON_LINES = 4
_INDENT = 3
_MOST_CELLS = 5
MOST_GROUPS = 20


def triage_terminal(found: Triage, screen: Screen | None = None, *, most: int = MOST_GROUPS) -> str:
    """The whole triage as text for `screen`, at most so many groups of it."""
    screen = screen or Screen()
    return paint(_lines(found, screen, most), screen)


def _lines(found: Triage, screen: Screen, most: int) -> Iterator[Text]:
    yield from wrapped(Text(screen.safe(_headline(found)), "bold"), screen.width)
    for note in found.notes:
        yield from _labelled("note", one_line(note, width=400), screen)
    for number, group in enumerate(found.groups[:most], 1):
        yield Text()
        yield from _group(number, group, screen)
    if len(found.groups) > most:
        yield Text()
        yield Text(screen.safe(f"and {len(found.groups) - most} more groups: --all shows them"), "dim")
    if found.groups:
        yield Text()
        told = "demeanor triage --brief N prints a group as a task for an engineer or an agent"
        yield from wrapped(Text(told, "dim"), screen.width)


def _headline(found: Triage) -> str:
    if not found.groups:
        return f"{found.run}: all {count(found.trials, 'trial')} passed, there is nothing to sort"
    wrong = [f"{found.failed} failed"] if found.failed else []
    wrong += [f"{found.voided} void"] if found.voided else []
    return (
        f"{found.run}: {' and '.join(wrong)} of {count(found.trials, 'trial')}, in {count(len(found.groups), 'group')}"
    )


def _group(number: int, group: Group, screen: Screen) -> Iterator[Text]:
    style = "yellow" if group.kind == "void" else "dim" if group.expected else "red"
    known = ", known to fail" if group.expected else ""
    size = f"{count(len(group.trials), 'trial')}{known}"
    head = Text.assemble((size, style), "  ", (screen.safe(group.title), "bold"))
    first, *more = wrapped(head, screen.width, indent=_INDENT)
    yield Text.assemble(f"{number:<{_INDENT}}", first[_INDENT:])
    yield from more
    cells = list(group.cells.items())
    shown = [f"{one_line(name)} · {one_line(who)} ({n})" for (name, who), n in cells[:_MOST_CELLS]]
    shown += [f"and {len(cells) - _MOST_CELLS} more"] if len(cells) > _MOST_CELLS else []
    yield from _labelled("   where", "\n".join(shown), screen)
    yield from _labelled("   example", f"{group.example.trial}", screen)
    parting = group.parting
    if parting is not None:
        yield from _labelled(f"   step {parting.step}", one_line(parting.did, width=300), screen)
        yield from _labelled("   instead", one_line(parting.instead, width=300), screen)
    if group.kind != "void" and group.reasons:
        others = len(group.reasons) - 1
        told = f"\n… and {count(others, 'other reason')}" if others else ""
        yield from _labelled("   found", opening(group.reasons[0].text, lines=_REASON_LINES) + told, screen)
    for command in filter(None, (group.trace, group.reproduce)):
        yield from _command(command, screen)


def _command(command: str, screen: Screen) -> Iterator[Text]:
    """A command on one line, or on several that can be copied together."""
    room = screen.width - _INDENT - 6
    options: list[str] = []
    for word in shlex.split(command):
        if options and not word.startswith("--"):
            options[-1] += f" {shlex.quote(word)}"
        else:
            options.append(shlex.quote(word))
    lines: list[str] = []
    for option in options:
        if lines and len(lines[-1]) + len(option) < room:
            lines[-1] += f" {option}"
        else:
            lines.append(option)
    for index, line in enumerate(lines):
        lead = "$ " if index == 0 else "    "
        end = " \\" if index + 1 < len(lines) else ""
        yield Text(f"{' ' * _INDENT}{lead}{screen.safe(line)}{end}", "cyan")


def _labelled(label: str, text: str, screen: Screen) -> Iterator[Text]:
    yield from labelled(f"{label:<12}", Text(screen.safe(text)), screen.width)
