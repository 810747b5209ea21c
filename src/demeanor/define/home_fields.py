"""The fields about the agent's HOME, commands after the agent, and descriptions of its tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from demeanor.config import Table, describe
from demeanor.core.values.checks import IN_HOME, Check
from demeanor.core.values.scenario import Scenario
from demeanor.define.field import FILES, STRINGS, Field, Schema, texts
from demeanor.define.template import checked_files

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_KNOWN = ("agent", "workspace", "home", "model")


def _home_files(table: Table, key: str) -> dict[str, bytes]:
    files = table.anything(key)
    if not isinstance(files, Mapping):
        table.fail(key, f"expected a mapping of path to content, found {describe(files)}")
    return checked_files(files, where=table.where, key=key)


def _patterns(table: Table, key: str) -> tuple[str, ...]:
    patterns = texts(table, key)
    for index, pattern in enumerate(patterns):
        if pattern.startswith(("/", IN_HOME)) or ".." in pattern.split("/"):
            table.fail(f"{key}[{index}]", f"{pattern!r} is not relative to HOME", "write it like '.gemini/**/*.md'")
    return patterns


def _commands(table: Table, key: str) -> tuple[tuple[str, ...], ...]:
    value: Any = table.anything(key)
    remedy = 'write a list of commands, each a list of words: [["{agent}", "--version"]]'
    if not isinstance(value, list | tuple) or not value:
        table.fail(key, f"expected a list of commands, found {describe(value)}", remedy)
    commands = []
    for index, words in enumerate(value):
        place = f"{key}[{index}]"
        if not isinstance(words, list | tuple) or not words or not all(isinstance(word, str) for word in words):
            table.fail(place, f"expected a list of words, found {describe(words)}", remedy)
        for word in words:
            _check_word(table, place, word)
        commands.append(tuple(words))
    return tuple(commands)


def _check_word(table: Table, place: str, word: str) -> None:
    if not word or "\0" in word:
        table.fail(place, f"{word!r} can't be a word of a command")
    for name in _PLACEHOLDER.findall(word):
        if name not in _KNOWN:
            table.fail(place, f"unknown placeholder {{{name}}}", f"known: {', '.join(_KNOWN)}")
        if name == "agent" and word != "{agent}":
            table.fail(place, f"{{agent}} is a part of {word!r}", "write it as a word of its own")


def _tools(table: Table, key: str) -> dict[str, str]:
    tools = table.strings(key)
    for name, description in tools.items():
        if not description.strip():
            table.fail(f"{key}.{name}", "is empty", "write the new description")
    return tools


def kept_for(checks: tuple[Check, ...]) -> tuple[str, ...]:
    """The files in HOME that declared checks read."""
    paths = [getattr(check, "path", "") for check in checks]
    return tuple(dict.fromkeys(path.removeprefix(IN_HOME) for path in paths if path.startswith(IN_HOME)))


def _field(name: str, read: Any, schema: Schema) -> Field:
    return Field(name=name, doc_of=Scenario, schema=schema, toml=read, python=read)


HOME_FIELDS = (
    _field("home_files", _home_files, FILES),
    _field("keep_home", _patterns, STRINGS),
    _field("then", _commands, {"type": "array", "minItems": 1, "items": {**STRINGS, "minItems": 1}}),
    _field("tools", _tools, FILES),
)
"""The keys of scenario.toml and arguments of `@eval_test` that this module reads."""
