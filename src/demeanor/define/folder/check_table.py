"""`[[checks]]` of scenario.toml: one reader per check, by the name that the author writes."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from demeanor.config.table import Table
from demeanor.core.checks import (
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
    PromptSnapshot,
    ToolUsed,
    UnchangedExcept,
)
from demeanor.core.json_path import json_steps
from demeanor.core.trajectory import Kind

QUANTITIES = ("turns", "tokens", "cost_usd", "seconds", "calls")


def read_check(table: Table) -> DeclaredCheck:
    """The check that a table describes."""
    table.text("check", required=True)
    name = table.choice("check", list(READERS)) or ""
    check = READERS[name](table)
    table.finish()
    return check


def _file_exists(table: Table) -> FileExists:
    return FileExists(path=table.relative_path("path"))


def _file_absent(table: Table) -> FileAbsent:
    return FileAbsent(path=table.relative_path("path"))


def _file_equals(table: Table) -> FileEquals:
    return FileEquals(path=table.relative_path("path"), text=table.text("text", required=True))


def _file_contains(table: Table) -> FileContains:
    return FileContains(
        path=table.relative_path("path"), text=_not_empty(table, "text", required=True), negated=table.flag("not")
    )


def _file_matches(table: Table) -> FileMatches:
    return FileMatches(path=table.relative_path("path"), pattern=_pattern(table, "pattern", required=True))


def _json_path(table: Table) -> JsonPathEquals:
    path, steps = table.relative_path("path"), table.text("json_path", required=True)
    try:
        json_steps(steps)
    except ValueError as error:
        table.fail("json_path", str(error), "write it like users[0].name")
    if "value" not in table:
        table.fail("value", "is required")
    value = table.anything("value")
    if isinstance(value, datetime.date | datetime.time):
        table.fail("value", "JSON knows no dates", "write it as a string")
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
    at_least = least if least is not None else (0 if most == 0 else 1)
    if most is not None and most < at_least:
        table.fail("at_most", f"is {most}, less than at_least = {at_least}")
    if at_least == 0 and most is None:
        table.fail("at_least", "is 0 without at_most, so that nothing could fail")
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
        table.fail("check", "asks nothing", "give contains, excludes or matches")
    return check


def _prompt_snapshot(table: Table) -> PromptSnapshot:
    return PromptSnapshot(file=Path(table.where).parent / table.relative_path("file"))


READERS: Mapping[str, Callable[[Table], DeclaredCheck]] = {
    "file_exists": _file_exists,
    "file_absent": _file_absent,
    "file_equals": _file_equals,
    "file_contains": _file_contains,
    "file_matches": _file_matches,
    "json_path": _json_path,
    "unchanged_except": _unchanged_except,
    "command_succeeds": _command_succeeds,
    "tool_used": _tool_used,
    "tool_not_used": _tool_not_used,
    "at_most": _at_most,
    "final_text": _final_text,
    "prompt_snapshot": _prompt_snapshot,
}
"""The name of each check, as written in `check = "…"`."""


def _tool_or_kind(table: Table) -> dict[str, Any]:
    tool = table.maybe_text("tool")
    kind = table.choice("kind", [kind.value for kind in Kind])
    if (tool is None) == (kind is None):
        table.fail("tool", "exactly one of tool and kind is needed")
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
        table.fail(key, f"{value!r} is no regular expression: {error}")
    return value
