"""A script written as rules, in YAML: the first rule that fits speaks.

    notes: "forgetful: forgets to save one time in five"
    rules:
      - when: {prompt: "Save the note '(?P<note>[^']+)' in (?P<file>[\\w.]+\\w)"}
        chance: 0.2
        say: Saved.
      - when: {prompt: "Save the note '(?P<note>[^']+)' in (?P<file>[\\w.]+\\w)"}
        turns:
          - think: I need a tool that writes.
            call: {kind: edit, path: "{file}", content: "{note}\\n"}
          - say: "I saved {note} in {file}."
      - say: I have nothing to say to that.

A rule's turns are counted by the tool results since the user spoke, so side requests and retries do no harm. A turn
with calls speaks once; a turn without calls speaks from then on. `{name}` stands for what the prompt's pattern
captured, `{result}` for the last tool result, `{prompt}` for the prompt; `{{` and `}}` are plain braces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from demeanor.config.table import Table
from demeanor.core.errors import nearest
from demeanor.core.exchange import StopReason
from demeanor.core.messages import ToolCall
from demeanor.core.trajectory import Kind
from demeanor.gateway.script.tools import ARGUMENT_NAMES
from demeanor.gateway.script.turn import Answer, Turn

_PLACE = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_ALWAYS = ("prompt", "result")


@dataclass(frozen=True, kw_only=True, slots=True)
class Call:
    """A tool call: by what it is to do, or by the tool's own name."""

    kind: Kind | None
    """What it is to do; None where the tool is named."""

    tool: str = ""
    """The tool's own name, where it is named."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The arguments, with places to be filled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """What is answered at one point."""

    say: str = ""
    """What the user is told."""

    think: str = ""
    """What is thought first."""

    calls: tuple[Call, ...] = ()
    """The tools to use."""

    stop: StopReason | None = None
    """Why the model stops, where it is to be an odd reason."""

    wait: float = 0.0
    """Seconds to think."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptRule:
    """When to speak, and what to say, turn by turn."""

    name: str
    """Its place in the file; tells its draws from those of other rules."""

    moves: tuple[Move, ...]
    """What is answered, turn by turn."""

    prompt: re.Pattern[str] | None = None
    """What the prompt must look like."""

    after: int = 0
    """How many tool results must have come."""

    result: str | None = None
    """What the last tool result must contain."""

    chance: float = 1.0
    """How likely it is to speak at all, drawn once for an attempt."""

    def answer(self, turn: Turn) -> Answer | None:
        """What it says to this; None where it is for another rule to speak."""
        found = self.prompt.search(turn.prompt) if self.prompt else None
        move = self._move(turn.done - self.after)
        if move is None or (self.prompt and not found) or (self.result is not None and self.result not in turn.result):
            return None
        if self.chance < 1.0 and not turn.chance(self.chance, self.name):
            return None
        words = {name: text or "" for name, text in (found.groupdict() if found else {}).items()}
        words |= {"prompt": turn.prompt, "result": turn.result}
        return Answer(
            text=_filled(move.say, words),
            thinking=_filled(move.think, words),
            calls=tuple(_called(turn, call, words) for call in move.calls),
            stop=move.stop,
            wait=move.wait,
        )

    def _move(self, results: int) -> Move | None:
        """The turn that is played after so many tool results."""
        for move in self.moves:
            if results == 0 or (results > 0 and not move.calls):
                return move
            results -= len(move.calls)
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rules:
    """A script of rules: the first one that fits speaks."""

    rules: tuple[ScriptRule, ...]
    """In the order in which they are asked."""

    def __call__(self, turn: Turn) -> Answer:
        for rule in self.rules:
            if answer := rule.answer(turn):
                return answer
        return Answer(text="The script has no rule for this.")


def read_rules(table: Table) -> Rules:
    """The rules of a file; raises BadInput at the first mistake."""
    if not table.take("rules", list, required=True):
        table.fail("rules", "there is no rule", "write at least one, such as: - say: Hello.")
    rules = [_rule(row, f"rule {number}") for number, row in enumerate(table.tables("rules"), 1)]
    return Rules(rules=tuple(rules))


def _rule(table: Table, name: str) -> ScriptRule:
    when = table.table("when") or Table({}, where=table.where, prefix=f"{table.prefix}when.")
    pattern = _pattern(when)
    known = (*_ALWAYS, *(pattern.groupindex if pattern else ()))
    chance = table.number("chance", least=0.0, most=1.0)
    turns = table.tables("turns") or [table]
    moves = [_move(row, known) for row in turns]
    rule = ScriptRule(
        name=name,
        moves=tuple(moves),
        prompt=pattern,
        after=when.whole("after", least=0) or 0,
        result=when.maybe_text("result"),
        chance=1.0 if chance is None else chance,
    )
    for row in (when, *turns, table):
        row.finish()
    for row, move in zip(turns, moves, strict=True):
        if move == Move():
            row.fail("say", "is required where nothing is called", "write say:, call: or turns:")
    return rule


def _move(table: Table, known: Sequence[str]) -> Move:
    rows = table.tables("calls")
    if (single := table.table("call")) is not None:
        rows.append(single)
    stop = table.choice("stop", [reason.value for reason in StopReason])
    return Move(
        say=_checked(table, "say", table.text("say"), known),
        think=_checked(table, "think", table.text("think"), known),
        calls=tuple(_call(row, known) for row in rows),
        stop=StopReason(stop) if stop else None,
        wait=table.number("wait", least=0.0, most=3600.0) or 0.0,
    )


def _call(table: Table, known: Sequence[str]) -> Call:
    if tool := table.maybe_text("tool"):
        arguments = table.mapping("arguments")
        _check_all(table, "arguments", arguments, known)
        table.finish()
        return Call(kind=None, tool=tool, arguments=arguments)
    kind = table.choice("kind", [kind.value for kind in Kind])
    if kind is None:
        table.fail("kind", "is required", "write what the tool is to do (kind: edit), or its name (tool: write_file)")
    given = {name: table.maybe_text(name) for name in ARGUMENT_NAMES}
    table.finish()
    arguments = {name: _checked(table, name, text, known) for name, text in given.items() if text is not None}
    return Call(kind=Kind(kind), arguments=arguments)


def _pattern(when: Table) -> re.Pattern[str] | None:
    text = when.maybe_text("prompt")
    try:
        return re.compile(text) if text is not None else None
    except re.error as error:
        when.fail("prompt", f"is no regular expression: {error}", "escape what is meant literally, as in 'notes\\.txt'")


def _check_all(table: Table, key: str, value: Any, known: Sequence[str]) -> None:
    """Check every text in a value of any depth."""
    if isinstance(value, str):
        _checked(table, key, value, known)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            _check_all(table, f"{key}.{name}", item, known)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_all(table, f"{key}[{index}]", item, known)


def _checked(table: Table, key: str, text: str, known: Sequence[str]) -> str:
    """The text, if every `{name}` in it stands for something."""
    for name in _PLACE.findall(text):
        if name and name not in known:
            close = nearest(name, known)
            remedy = f"did you mean {{{close}}}?" if close else f"known: {', '.join(known)}; plain braces are doubled"
            table.fail(key, f"nothing is called {{{name}}}", remedy)
    return text


def _filled(text: str, words: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda found: words[found[1]] if found[1] else found[0][0], text)


def _filled_all(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _filled(value, words)
    if isinstance(value, Mapping):
        return {name: _filled_all(item, words) for name, item in value.items()}
    return [_filled_all(item, words) for item in value] if isinstance(value, list) else value


def _called(turn: Turn, call: Call, words: Mapping[str, str]) -> ToolCall:
    arguments = _filled_all(call.arguments, words)
    return turn.call_tool(call.tool, arguments) if call.kind is None else turn.call(call.kind, **arguments)
