"""Facts about what an agent did, each with a check that fails on it. Pure.

A fact is not a judgement: only a person can say which of them was wrong. So no check is active until one is chosen.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from demeanor.core.text.wording import one_line
from demeanor.core.values.trajectory import Kind
from demeanor.judge import values
from demeanor.plugins.lab.adopt.replay import calls_on
from demeanor.plugins.lab.adopt.situation import Situation
from demeanor.plugins.lab.adopt.source import text_literal

_MOST_PER_KIND = 8
_WORD = re.compile(r"[a-z][\w-]*", re.ASCII)


class FactKind(StrEnum):
    """What sort of fact it is; the order is that of the proposals."""

    DELETED = "deleted a file"
    UNREAD = "changed a file without reading it first"
    NOTHING = "changed no file"
    FAILED = "ended with a failed call"
    UNCHECKED = "ran nothing after its last change"
    CHANGED = "changed a file"
    CREATED = "created a file"
    RAN = "ran a command"


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """Something that the agent did, or did not do."""

    kind: FactKind
    """What sort of fact."""

    title: str
    """The fact in a sentence. Partly hostile text, in one line."""

    check: str
    """An expression that is false of what the agent did."""

    demand: Literal["must", "must not"]
    """Whether the check demands an action, or forbids one; an agent that does nothing passes the latter."""


def facts_of(situation: Situation) -> tuple[Fact, ...]:
    """The facts, the most telling first."""
    all_facts: list[Fact] = []
    for facts in (_deleted, _unread, _nothing, _failed, _unchecked, _changed, _created, _ran):
        all_facts += list(facts(situation))[:_MOST_PER_KIND]
    return tuple(all_facts)


def _deleted(situation: Situation) -> Iterator[Fact]:
    in_files = [path for path, content in situation.after.items() if content is None]
    for path in in_files:
        check = f"rig.workspace.exists({text_literal(path)})"
        yield Fact(kind=FactKind.DELETED, title=f"It deleted {path}.", check=check, demand="must not")
    gone = dict.fromkeys(path for _, path in calls_on(situation.steps, Kind.DELETE, situation.session.folder))
    for path in gone:
        if not any(file == path or file.startswith(f"{path}/") for file in in_files):
            check = f'not rig.calls.of_kind("delete").where(path={text_literal(path)})'
            yield Fact(kind=FactKind.DELETED, title=f"It deleted {path}.", check=check, demand="must not")


def _unread(situation: Situation) -> Iterator[Fact]:
    folder = situation.session.folder
    reads = list(calls_on(situation.steps, Kind.READ, folder))
    first: dict[str, int] = {}
    for position, path in calls_on(situation.steps, Kind.EDIT, folder):
        first.setdefault(path, position)
    unclear = [position for position, step in enumerate(situation.steps) if step.facts.effects.unclear]
    for path, position in first.items():
        if any(at < position for at in unclear):
            continue  # one of these commands may have read it
        if path in situation.files and not any(at < position and read == path for at, read in reads):
            own = text_literal(path)
            check = f'rig.calls.of_kind("read").where(path={own}).before(rig.calls.of_kind("edit").where(path={own}))'
            title = f"It changed {path} without reading it first."
            yield Fact(kind=FactKind.UNREAD, title=title, check=check, demand="must")


def _nothing(situation: Situation) -> Iterator[Fact]:
    unclear = any(step.facts.effects.unclear for step in situation.steps)
    folder = situation.session.folder
    changed = any(True for kind in (Kind.EDIT, Kind.DELETE) for _ in calls_on(situation.steps, kind, folder))
    if not situation.after and not unclear and not changed:
        check = "rig.workspace.changed_paths"
        yield Fact(kind=FactKind.NOTHING, title="It changed no file.", check=check, demand="must")


def _failed(situation: Situation) -> Iterator[Fact]:
    if situation.steps and situation.steps[-1].call.succeeded is False:
        tool = one_line(situation.steps[-1].call.tool, width=40)
        title = f"Its last tool call, of {tool}, failed."
        yield Fact(kind=FactKind.FAILED, title=title, check="rig.calls.last().succeeded()", demand="must")


def _unchecked(situation: Situation) -> Iterator[Fact]:
    edits = [position for position, step in enumerate(situation.steps) if step.done and step.facts.kind is Kind.EDIT]
    runs = [position for position, step in enumerate(situation.steps) if step.facts.kind is Kind.EXECUTE]
    if edits and not any(position > edits[-1] for position in runs):
        check = 'rig.calls.of_kind("execute").after(rig.calls.of_kind("edit"))'
        title = "It ran no command after its last change of a file."
        yield Fact(kind=FactKind.UNCHECKED, title=title, check=check, demand="must")


def _changed(situation: Situation) -> Iterator[Fact]:
    for path, content in situation.after.items():
        if content is not None and path in situation.files:
            check = f"{text_literal(path)} not in rig.workspace.changed_paths"
            yield Fact(kind=FactKind.CHANGED, title=f"It changed {path}.", check=check, demand="must not")


def _created(situation: Situation) -> Iterator[Fact]:
    for path, content in situation.after.items():
        if content is not None and path not in situation.files:
            check = f"not rig.workspace.exists({text_literal(path)})"
            yield Fact(kind=FactKind.CREATED, title=f"It created {path}.", check=check, demand="must not")


def _ran(situation: Situation) -> Iterator[Fact]:
    seen: set[str] = set()
    for step in situation.steps:
        if step.facts.kind is not Kind.EXECUTE:
            continue
        for command in values(step.facts.arguments, "command", step.facts.kind, step.facts.offered):
            program = _program(command)
            if program and program not in seen:
                seen.add(program)
                pattern = rf'r"\b{program}\b"'
                check = f'not rig.calls.of_kind("execute").where(command=re.compile({pattern}))'
                title = f"It ran: {one_line(command, width=80)}"
                yield Fact(kind=FactKind.RAN, title=title, check=check, demand="must not")


def _program(command: str) -> str:
    """The program of a command and its sub-command: `git push` of `git push --force origin`."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    paths: list[str] = []
    for word in words[:2]:
        if not _WORD.fullmatch(word):
            break
        paths.append(word)
    followed = len(paths) == 2 and f"{paths[0]} {paths[1]}" in command
    return " ".join(paths if followed else paths[:1])
