"""`[[checks]]` of scenario.toml: the checks by name, each with its reader."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from demeanor.config import Table, path_problem, read_whole
from demeanor.core.text.json_path import json_steps
from demeanor.core.values.checks import (
    IN_HOME,
    AtMost,
    CommandSucceeds,
    DeclaredCheck,
    FileAbsent,
    FileContains,
    FileEquals,
    FileExists,
    FileMatches,
    FinalText,
    JsonPathEquals,
    JudgeCheck,
    PromptSnapshot,
    ToolUsed,
    UnchangedExcept,
)
from demeanor.core.values.judge_question import JudgeWord
from demeanor.core.values.trajectory import Kind

QUANTITIES = ("turns", "tokens", "cost_usd", "seconds", "calls")


def read_check(table: Table) -> DeclaredCheck:
    """The check that a table describes."""
    table.text("check", required=True)
    name = table.choice("check", list(CHECKS)) or ""
    return read_whole(table, CHECKS[name].read)


JUDGE_EVIDENCE = ("prompt", "final_text", "said", "trajectory", "diff")
"""What a judge can be shown."""

EXPECTED = ("yes", "no")


def read_judge_check(table: Table) -> JudgeCheck:
    """The question that a `[[judge]]` table describes."""
    return read_whole(table, _read_question)


def _read_question(table: Table) -> JudgeCheck:
    votes = table.whole("votes", least=1) or 1
    if votes % 2 == 0:
        table.fail("votes", f"is {votes}", "use an odd number, so that a panel can't be split in half")
    shown = table.texts("evidence")
    for kind in shown:
        if kind not in JUDGE_EVIDENCE:
            table.fail("evidence", f"unknown value {kind!r}", f"expected some of: {', '.join(JUDGE_EVIDENCE)}")
    default = JudgeCheck(question="")
    question = _not_empty(table, "question", required=True)
    expect = table.choice("expect", EXPECTED) or default.expect
    return JudgeCheck(
        question=question,
        rubric=table.text("rubric"),
        model=_not_empty(table, "model") or None,
        votes=votes,
        evidence=shown or default.evidence,
        expect=cast("JudgeWord", expect),
    )


def _path(table: Table) -> str:
    """A file of the workspace, or of the agent's HOME (`~/`)."""
    value = table.text("path", required=True)
    if problem := path_problem(value.removeprefix(IN_HOME)):
        table.fail("path", problem, "write a path relative to the workspace, such as 'src/app.py', or to HOME: '~/.rc'")
    return value


def _file_exists(table: Table) -> FileExists:
    return FileExists(path=_path(table))


def _file_absent(table: Table) -> FileAbsent:
    return FileAbsent(path=_path(table))


def _file_equals(table: Table) -> FileEquals:
    return FileEquals(path=_path(table), text=table.text("text", required=True))


def _file_contains(table: Table) -> FileContains:
    return FileContains(path=_path(table), text=_not_empty(table, "text", required=True), negated=table.flag("not"))


def _file_matches(table: Table) -> FileMatches:
    return FileMatches(path=_path(table), pattern=_pattern(table, "pattern", required=True))


def _json_path(table: Table) -> JsonPathEquals:
    path, steps = _path(table), table.text("json_path", required=True)
    try:
        json_steps(steps)
    except ValueError as error:
        table.fail("json_path", str(error), "write it like users[0].name")
    if "value" not in table:
        table.fail("value", "is required")
    value = table.anything("value")
    if isinstance(value, datetime.date | datetime.time):
        table.fail("value", "JSON has no dates", "write it as a string")
    return JsonPathEquals(path=path, json_path=steps, value=value)


def _unchanged_except(table: Table) -> UnchangedExcept:
    return UnchangedExcept(patterns=table.texts("patterns"))


def _command_succeeds(table: Table) -> CommandSucceeds:
    argv = table.texts("argv")
    if not argv or not argv[0]:
        table.fail("argv", "is required", 'write argv = ["program", "argument"]')
    return CommandSucceeds(
        argv=argv,
        stdout_contains=table.maybe_text("stdout_contains"),
        timeout=table.number("timeout", least=0.001) or 60.0,
    )


def _tool_used(table: Table) -> ToolUsed:
    least, most = table.whole("at_least", least=0), table.whole("at_most", least=0)
    at_least = 0 if most == 0 else 1
    if least is not None:
        at_least = least
    if most is not None and most < at_least:
        table.fail("at_most", f"is {most}, less than at_least = {at_least}")
    if at_least == 0 and most is None:
        table.fail("at_least", "is 0 without at_most, so the check could never fail")
    return ToolUsed(**_tool_or_kind(table), at_least=at_least, at_most=most)


def _tool_not_used(table: Table) -> ToolUsed:
    return ToolUsed(**_tool_or_kind(table), at_least=0, at_most=0)


def _at_most(table: Table) -> AtMost:
    table.text("quantity", required=True)
    quantity = table.choice("quantity", QUANTITIES) or ""
    limit = table.number("limit", least=0)
    if limit is None:
        table.fail("limit", "is required")
    return AtMost(quantity=quantity, limit=limit)


def _final_text(table: Table) -> FinalText:
    check = FinalText(
        contains=_not_empty(table, "contains") or None,
        excludes=_not_empty(table, "excludes") or None,
        matches=_pattern(table, "matches") or None,
    )
    if check == FinalText():
        table.fail("check", "has no condition", "give contains, excludes or matches")
    return check


def _prompt_snapshot(table: Table) -> PromptSnapshot:
    return PromptSnapshot(file=Path(table.where).parent / table.relative_path("file"))


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One check of scenario.toml."""

    kind: type[DeclaredCheck]
    """The value that it becomes; its fields are the keys of the table."""

    read: Callable[[Table], DeclaredCheck]
    """Reads the table."""

    fixed: tuple[str, ...] = ()
    """Fields of the value that the author can't set."""


CHECKS: Mapping[str, CheckSpec] = {
    "file_exists": CheckSpec(FileExists, _file_exists),
    "file_absent": CheckSpec(FileAbsent, _file_absent),
    "file_equals": CheckSpec(FileEquals, _file_equals),
    "file_contains": CheckSpec(FileContains, _file_contains),
    "file_matches": CheckSpec(FileMatches, _file_matches),
    "json_path": CheckSpec(JsonPathEquals, _json_path),
    "unchanged_except": CheckSpec(UnchangedExcept, _unchanged_except),
    "command_succeeds": CheckSpec(CommandSucceeds, _command_succeeds),
    "tool_used": CheckSpec(ToolUsed, _tool_used),
    "tool_not_used": CheckSpec(ToolUsed, _tool_not_used, fixed=("at_least", "at_most")),
    "at_most": CheckSpec(AtMost, _at_most),
    "final_text": CheckSpec(FinalText, _final_text),
    "prompt_snapshot": CheckSpec(PromptSnapshot, _prompt_snapshot),
}
"""Every check, by the name in `check = "…"`."""


def _tool_or_kind(table: Table) -> dict[str, Any]:
    tool = table.maybe_text("tool")
    kind = table.choice("kind", [kind.value for kind in Kind])
    if (tool is None) == (kind is None):
        table.fail("tool", "exactly one of tool and kind is required")
    return {"tool": tool, "kind": kind}


def _not_empty(table: Table, key: str, *, required: bool = False) -> str:
    value = table.text(key, required=required)
    if key in table and not value:
        table.fail(key, "is empty")
    return value


def _pattern(table: Table, key: str, *, required: bool = False) -> str:
    value = _not_empty(table, key, required=required)
    try:
        re.compile(value)
    except re.error as error:
        table.fail(key, f"{value!r} is not a valid regular expression: {error}")
    return value
