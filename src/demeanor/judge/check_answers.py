"""Evaluate checks: the evidence satisfies a check, refutes it, or is insufficient.

Every check uses the rig, so that declared checks and author's functions see the same. A refuted check raises
AssertionError, like a plain `assert`.
"""

from __future__ import annotations

import json
import math
import re
from functools import singledispatch
from typing import Any, cast

from demeanor.core.text.json_path import json_steps
from demeanor.core.text.wording import excerpt, one_line, shortened
from demeanor.core.values.checks import (
    IN_HOME,
    AtMost,
    Check,
    CommandSucceeds,
    FileAbsent,
    FileContains,
    FileEquals,
    FileExists,
    FileMatches,
    FinalText,
    FunctionCheck,
    JsonPathEquals,
    JudgeCheck,
    PromptSnapshot,
    RewardCheck,
    ToolUsed,
    UnchangedExcept,
)
from demeanor.core.values.errors import WorldError
from demeanor.core.values.trajectory import Kind
from demeanor.core.values.verdict import Finding, VoidCause
from demeanor.judge.fixtures import fixture_values
from demeanor.judge.rig import Rig
from demeanor.judge.snapshot import compare_snapshot
from demeanor.judge.unknowable import Unknowable, unknowable
from demeanor.judge.user_check import ask_function, refutation
from demeanor.judge.workspace_view import WorkspaceView


def answer(check: Check, rig: Rig) -> Finding:
    """The check's answer with its reason. Other exceptions of a check are passed on."""
    name = title(check)
    try:
        remark: str | None = ask(check, rig)
    except Unknowable as error:
        return Finding(check=name, answer="unknown", reason=str(error))
    except BaseException as error:
        reason = refutation(error, rig)
        if reason is None:
            raise
        return Finding(check=name, answer="no", reason=reason)
    return Finding(check=name, answer="yes", reason=remark or "")


@singledispatch
def ask(check: Any, rig: Rig) -> str | None:
    """Evaluate one check: returns if the evidence satisfies it, otherwise raises AssertionError or Unknowable.

    The return value is a remark about a satisfied check; most checks have none.
    """
    raise TypeError(f"can't evaluate a check of type {type(check).__name__}")


@singledispatch
def title(check: Any) -> str:
    """The check's name in reports."""
    words = "_".join(re.findall("[A-Z][a-z]*", type(check).__name__)).lower()
    return f"{words} {check.path}" if hasattr(check, "path") else words


@title.register
def _(check: FunctionCheck) -> str:
    return str(getattr(check.function, "__name__", "check"))


@title.register
def _(check: ToolUsed) -> str:
    word = "tool_not_used" if check.at_most == 0 else "tool_used"
    return f"{word} {check.tool or check.kind}"


@title.register
def _(check: AtMost) -> str:
    return f"at_most {check.limit:g} {check.quantity}"


@title.register
def _(check: RewardCheck) -> str:
    return f"{check.key} at least {check.at_least:g}"


@title.register
def _(check: CommandSucceeds) -> str:
    return f"command_succeeds {one_line(' '.join(check.argv), width=60)}"


@title.register
def _(check: JudgeCheck) -> str:
    return f"judge {one_line(check.question, width=60)}"


@title.register
def _(check: PromptSnapshot) -> str:
    return f"prompt_snapshot {check.file.name}"


@ask.register
def _(check: FunctionCheck, rig: Rig) -> None:
    with fixture_values(check) as fixtures:
        ask_function(check.function, rig, {**check.arguments, **fixtures})


@ask.register
def _(check: JudgeCheck, rig: Rig) -> str:
    opinion = rig.judge(
        check.question, rubric=check.rubric, model=check.model, votes=check.votes, evidence=check.evidence
    )
    if bool(opinion) is not (check.expect == "yes"):
        raise AssertionError(str(opinion))
    return str(opinion)


@ask.register
def _(check: FileExists, rig: Rig) -> None:
    _place(check.path, rig).entry(_below(check.path))


@ask.register
def _(check: FileAbsent, rig: Rig) -> None:
    if _place(check.path, rig).exists(_below(check.path)):
        raise AssertionError(f"{check.path!r} exists, but must not")


@ask.register
def _(check: FileEquals, rig: Rig) -> None:
    content = _place(check.path, rig)[_below(check.path)].text
    if _without_last_newline(content) != _without_last_newline(check.text):
        raise AssertionError(f"{check.path!r} differs:\n{_compared(check.text, content)}")


@ask.register
def _(check: FileContains, rig: Rig) -> None:
    content = _place(check.path, rig)[_below(check.path)].text
    if (check.text in content) is check.negated:
        word = "contains" if check.negated else "does not contain"
        raise AssertionError(f"{check.path!r} {word} {check.text!r}: {_quoted(content)}")


@ask.register
def _(check: FileMatches, rig: Rig) -> None:
    content = _place(check.path, rig)[_below(check.path)].text
    if not re.search(check.pattern, content, re.MULTILINE):
        raise AssertionError(f"{check.path!r} does not match {check.pattern!r}: {_quoted(content)}")


@ask.register
def _(check: JsonPathEquals, rig: Rig) -> None:
    data = _place(check.path, rig)[_below(check.path)].json
    for step in json_steps(check.json_path):
        try:
            data = _step_into(data, step)
        except (KeyError, IndexError):
            where = f"{check.path!r} has no {check.json_path}: there is no {step!r} in {_quoted(json.dumps(data))}"
            raise AssertionError(where) from None
    if not _same_json(data, check.value):
        raise AssertionError(f"{check.path!r} has {check.json_path} = {data!r}, expected {check.value!r}")


@ask.register
def _(check: UnchangedExcept, rig: Rig) -> None:
    rig.workspace.unchanged_except(*check.patterns)


@ask.register
def _(check: CommandSucceeds, rig: Rig) -> None:
    end = rig.workspace.run(*check.argv, timeout=check.timeout)
    shown = one_line(" ".join(check.argv))
    if end.timed_out:
        raise AssertionError(f"{shown} did not end within {check.timeout:g} seconds")
    if end.exit_code != 0:
        raise AssertionError(f"{shown} exited with {end.exit_code}:\n{excerpt(end.stderr or end.stdout)}")
    if check.stdout_contains is not None and check.stdout_contains not in end.stdout:
        raise AssertionError(f"{shown} did not print {check.stdout_contains!r}:\n{excerpt(end.stdout)}")


@ask.register
def _(check: ToolUsed, rig: Rig) -> None:
    calls = rig.calls.named(check.tool) if check.tool else rig.calls.of_kind(cast("Kind", check.kind or ""))
    count = calls.count()
    if check.at_most is not None and count > check.at_most:
        raise AssertionError(f"used {count} times, at most {check.at_most} allowed: {calls!r}")
    if check.at_least and not count >= check.at_least:
        raise AssertionError(f"used {count} times, at least {check.at_least} required; all calls: {rig.calls!r}")


@ask.register
def _(check: AtMost, rig: Rig) -> None:
    used = rig.calls.count() if check.quantity == "calls" else getattr(rig, check.quantity)
    if used is None:
        raise unknowable(f"whether {check.quantity} stayed within {check.limit:g}", ("it was not measured",))
    if not used <= check.limit:
        raise AssertionError(f"used {used:g} {check.quantity}, at most {check.limit:g} allowed")


@ask.register
def _(check: FinalText, rig: Rig) -> None:
    text = rig.final_text
    if not text and rig.trajectory.gaps:
        raise unknowable("the agent's final text", rig.trajectory.gaps)
    if check.contains is not None and check.contains.lower() not in text.lower():
        raise AssertionError(f"the final text does not contain {check.contains!r}: {_quoted(text)}")
    if check.excludes is not None and check.excludes.lower() in text.lower():
        raise AssertionError(f"the final text contains {check.excludes!r}: {_quoted(text)}")
    if check.matches is not None and not re.search(check.matches, text, re.MULTILINE):
        raise AssertionError(f"the final text does not match {check.matches!r}: {_quoted(text)}")


@ask.register
def _(check: PromptSnapshot, rig: Rig) -> None:
    compare_snapshot(check.file_of(rig.subject), rig.asked)


@ask.register
def _(check: RewardCheck, rig: Rig) -> str:
    if rig.rewards is None:
        raise WorldError(VoidCause.VERIFIER, "the verifier gave no reward")
    if check.key not in rig.rewards:
        rewards = ", ".join(rig.rewards) or "no rewards"
        raise WorldError(VoidCause.VERIFIER, f"the verifier gave no {check.key!r}; it gave: {one_line(rewards)}")
    reward = rig.rewards[check.key]
    if not math.isfinite(reward):
        raise WorldError(VoidCause.VERIFIER, f"{check.key} is {reward}, which is not a valid reward")
    more = _other_rewards(check.key, rig)
    if not reward >= check.at_least:
        output = f"\n{rig.verifier_said}" if rig.verifier_said else ""
        raise AssertionError(f"{check.key} is {reward:g}, at least {check.at_least:g} required{more}{output}")
    return f"{check.key} is {reward:g}{more}"


def _other_rewards(key: str, rig: Rig) -> str:
    """The other rewards: under other keys, and for each step."""
    others = [f"{one_line(name)} {value:g}" for name, value in (rig.rewards or {}).items() if name != key]
    steps = [f"step {one_line(step)} {rewards[key]:g}" for step, rewards in rig.step_rewards.items() if key in rewards]
    return f" ({', '.join((*others, *steps))})" if others or steps else ""


def _place(path: str, rig: Rig) -> WorkspaceView:
    """Where a path of a declared check is: `~/` is the agent's HOME."""
    return rig.home if path.startswith(IN_HOME) else rig.workspace


def _below(path: str) -> str:
    return path.removeprefix(IN_HOME)


def _without_last_newline(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _compared(expected: str, actual: str) -> str:
    return f"  expected: {_quoted(expected)}\n  found:    {_quoted(actual)}"


def _quoted(text: str) -> str:
    shown = repr(text)
    short = shortened(shown, 300)
    return f"{short} ({len(text)} characters)" if short.endswith("…") and len(shown) > 300 else short


def _step_into(value: Any, step: str | int) -> Any:
    """The value at one key or index; raises KeyError or IndexError if there is none."""
    if isinstance(value, list) and isinstance(step, int):
        return value[step]
    if isinstance(value, dict) and isinstance(step, str):
        return value[step]
    raise KeyError(step)


def _same_json(value: Any, other: Any) -> bool:
    """Whether two JSON values are equal; true is not 1."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(_same_json(value[key], other[key]) for key in value)
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(map(_same_json, value, other))
    return bool(value == other)
