"""Scripts written as rules in YAML: the first matching rule answers.

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

A rule's turns are counted by the tool results since the last user message, so side requests and retries do no harm. A
turn with calls is used once; a turn without calls is used from then on. `{name}` stands for what the prompt's pattern
captured, `{result}` for the last tool result, `{prompt}` for the prompt; write `{{` and `}}` for literal braces.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from demeanor.config import LimitedPattern, Table
from demeanor.core.values.errors import nearest
from demeanor.core.values.exchange import StopReason
from demeanor.core.values.messages import ToolCall
from demeanor.core.values.trajectory import Kind
from demeanor.gateway.script.tools import ARGUMENT_NAMES
from demeanor.gateway.script.turn import Answer, Turn

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w+)\}")
_BUILTIN_NAMES = ("prompt", "result")


@dataclass(frozen=True, kw_only=True, slots=True)
class CallTemplate:
    """A tool call: by what it does (`kind`), or by the tool's name."""

    kind: Kind | None
    """What it does; None if the tool is named."""

    tool: str = ""
    """The tool's name, if given."""

    arguments: Mapping[str, Any] = field(default_factory=dict)
    """The arguments, with placeholders."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedTurn:
    """The answer at one point of the conversation."""

    say: str = ""
    """The text for the user."""

    think: str = ""
    """The reasoning before it."""

    calls: tuple[CallTemplate, ...] = ()
    """The tool calls."""

    stop: StopReason | None = None
    """The stop reason, if it is not the usual one."""

    wait: float = 0.0
    """Seconds to wait before answering."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptRule:
    """When a rule applies, and its answers turn by turn."""

    name: str
    """Its position in the file; gives each rule its own random draws."""

    turns: tuple[ScriptedTurn, ...]
    """The answers, turn by turn."""

    prompt: LimitedPattern | None = None
    """A pattern that the prompt must match."""

    after: int = 0
    """The number of tool results that must have arrived."""

    result: str | None = None
    """A text that the last tool result must contain."""

    chance: float = 1.0
    """The probability that the rule applies at all, drawn once for each attempt."""

    def answer(self, turn: Turn) -> Answer | None:
        """The rule's answer in this turn; None if the rule does not apply."""
        match = self.prompt.search(turn.prompt) if self.prompt else None
        scripted_turn = self._turn_for(turn.done - self.after)
        if (
            scripted_turn is None
            or (self.prompt and not match)
            or (self.result is not None and self.result not in turn.result)
        ):
            return None
        if self.chance < 1.0 and not turn.chance(self.chance, self.name):
            return None
        values = {name: text or "" for name, text in (match.groupdict() if match else {}).items()}
        values |= {"prompt": turn.prompt, "result": turn.result}
        return Answer(
            text=_fill(scripted_turn.say, values),
            thinking=_fill(scripted_turn.think, values),
            calls=tuple(_make_call(turn, call, values) for call in scripted_turn.calls),
            stop=scripted_turn.stop,
            wait=scripted_turn.wait,
        )

    def _turn_for(self, results: int) -> ScriptedTurn | None:
        """The turn to use after this many tool results."""
        for scripted_turn in self.turns:
            if results == 0 or (results > 0 and not scripted_turn.calls):
                return scripted_turn
            results -= len(scripted_turn.calls)
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleScript:
    """A script of rules: the first matching rule answers."""

    rules: tuple[ScriptRule, ...]
    """The rules, in order."""

    def __call__(self, turn: Turn) -> Answer:
        for rule in self.rules:
            if answer := rule.answer(turn):
                return answer
        return Answer(text="The script has no rule for this.")


def read_rules(table: Table) -> RuleScript:
    """Read the rules of a file; raises BadInput at the first mistake."""
    if not table.take("rules", list, required=True):
        table.fail("rules", "is empty", "write at least one rule, such as: - say: Hello.")
    rules = [_read_rule(row, f"rule {number}") for number, row in enumerate(table.tables("rules"), 1)]
    return RuleScript(rules=tuple(rules))


def _read_rule(table: Table, name: str) -> ScriptRule:
    when = table.table("when") or Table({}, where=table.where, prefix=f"{table.prefix}when.")
    pattern = _read_pattern(when)
    names = (*_BUILTIN_NAMES, *(pattern.names if pattern else ()))
    chance = table.number("chance", least=0.0, most=1.0)
    rows = table.tables("turns") or [table]
    turns = [_read_turn(row, names) for row in rows]
    rule = ScriptRule(
        name=name,
        turns=tuple(turns),
        prompt=pattern,
        after=when.whole("after", least=0) or 0,
        result=when.maybe_text("result"),
        chance=1.0 if chance is None else chance,
    )
    for row in (when, *rows, table):
        row.finish()
    for row, scripted_turn in zip(rows, turns, strict=True):
        if scripted_turn == ScriptedTurn():
            row.fail("say", "is required if nothing is called", "write say:, call: or turns:")
    return rule


def _read_turn(table: Table, names: Sequence[str]) -> ScriptedTurn:
    rows = table.tables("calls")
    if (single := table.table("call")) is not None:
        rows.append(single)
    stop = table.choice("stop", [reason.value for reason in StopReason])
    return ScriptedTurn(
        say=_check_names(table, "say", table.text("say"), names),
        think=_check_names(table, "think", table.text("think"), names),
        calls=tuple(_read_call(row, names) for row in rows),
        stop=StopReason(stop) if stop else None,
        wait=table.number("wait", least=0.0, most=3600.0) or 0.0,
    )


def _read_call(table: Table, names: Sequence[str]) -> CallTemplate:
    if tool := table.maybe_text("tool"):
        arguments = table.mapping("arguments")
        _check_names_in(table, "arguments", arguments, names)
        table.finish()
        return CallTemplate(kind=None, tool=tool, arguments=arguments)
    kind = table.choice("kind", [kind.value for kind in Kind])
    if kind is None:
        table.fail("kind", "is required", "write what the tool does (kind: edit), or its name (tool: write_file)")
    texts = {name: table.maybe_text(name) for name in ARGUMENT_NAMES}
    table.finish()
    arguments = {name: _check_names(table, name, text, names) for name, text in texts.items() if text is not None}
    return CallTemplate(kind=Kind(kind), arguments=arguments)


def _read_pattern(when: Table) -> LimitedPattern | None:
    text = when.maybe_text("prompt")
    try:
        return LimitedPattern(text) if text is not None else None
    except re.error as error:
        when.fail(
            "prompt", f"is not a valid regular expression: {error}", "escape literal characters, as in 'notes\\.txt'"
        )


def _check_names_in(table: Table, key: str, value: Any, names: Sequence[str]) -> None:
    """Check every text in a nested value."""
    if isinstance(value, str):
        _check_names(table, key, value, names)
    elif isinstance(value, Mapping):
        for name, item in value.items():
            _check_names_in(table, f"{key}.{name}", item, names)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_names_in(table, f"{key}[{index}]", item, names)


def _check_names(table: Table, key: str, text: str, names: Sequence[str]) -> str:
    """The text, if every `{name}` in it is defined."""
    for name in _PLACEHOLDER.findall(text):
        if name and name not in names:
            close = nearest(name, names)
            remedy = f"did you mean {{{close}}}?" if close else f"known: {', '.join(names)}; double literal braces"
            table.fail(key, f"{{{name}}} is not defined", remedy)
    return text


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]] if match[1] else match[0][0], text)


def _fill_all(value: Any, values: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _fill(value, values)
    if isinstance(value, Mapping):
        return {name: _fill_all(item, values) for name, item in value.items()}
    return [_fill_all(item, values) for item in value] if isinstance(value, list) else value


def _make_call(turn: Turn, call: CallTemplate, values: Mapping[str, str]) -> ToolCall:
    arguments = _fill_all(call.arguments, values)
    return turn.call_tool(call.tool, arguments) if call.kind is None else turn.call(call.kind, **arguments)
