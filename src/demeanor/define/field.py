"""One field that an author can write: how it is read, its JSON schema and its documentation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from demeanor.config import Table, describe

Schema: TypeAlias = dict[str, Any]
Reader: TypeAlias = Callable[[Table, str], Any]

STRING: Schema = {"type": "string"}
STRINGS: Schema = {"type": "array", "items": STRING}
BOOLEAN: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
FILES: Schema = {"type": "object", "additionalProperties": STRING}


@dataclass(frozen=True, kw_only=True, slots=True)
class Field:
    """One key of a table in scenario.toml, one keyword argument of `@eval_test`, or both."""

    name: str
    """The key."""

    doc_of: type | None = None
    """The dataclass whose field of the same name documents it, unless `text` does."""

    text: str = ""
    """What it is, in Markdown."""

    default: str = ""
    """What applies if it is left out, in Markdown; empty if that is obvious."""

    schema: Schema = field(default_factory=dict)
    """The JSON schema of its value in scenario.toml. A tuple of fields in it stands for a table with these keys."""

    toml: Reader | None = None
    """Reads it from scenario.toml; None if it can't be written there."""

    python: Reader | None = None
    """Reads it from the arguments of `@eval_test`; None if it isn't one."""

    required: bool = False
    """Whether scenario.toml must have it."""


def read_fields(table: Table, fields: Sequence[Field], *, python: bool = False) -> dict[str, Any]:
    """The values of the `fields` that the table has; a missing required key and an unknown key are a BadInput."""
    readers = [(key, reader) for key in fields if (reader := key.python if python else key.toml) is not None]
    values = {key.name: table.anything(key.name) for key, _ in readers}
    table.finish()
    return {
        key.name: reader(table, key.name)
        for key, reader in readers
        if values[key.name] is not None or (key.required and not python)
    }


def text(table: Table, key: str) -> str:
    """A string that is not blank."""
    value = table.text(key)
    if not value.strip():
        table.fail(key, "is empty")
    return value


def required_text(table: Table, key: str) -> str:
    """A string that must be there; it may be empty."""
    return table.text(key, required=True)


def texts(table: Table, key: str) -> tuple[str, ...]:
    """A list of strings that are not blank."""
    values = table.texts(key)
    for index, value in enumerate(values):
        if not value.strip():
            table.fail(f"{key}[{index}]", "is empty")
    return values


def count(table: Table, key: str) -> int | None:
    """A number that can't be negative."""
    return table.whole(key, least=0)


def amount(table: Table, key: str) -> float | None:
    """A quantity that can't be negative."""
    return table.number(key, least=0)


def accepts(function: Any, count: int) -> bool:
    """Whether `function` can be called with `count` positional arguments."""
    if not callable(function):
        return False
    try:
        inspect.signature(function).bind(*[None] * count)
    except (TypeError, ValueError):
        return False
    return True


def require_function(table: Table, key: str, function: Any, *, of: str, example: str) -> None:
    """Reject what is not a function of one argument, or would not run when it is called; `of` names the argument."""
    if not accepts(function, 1):
        table.fail(key, f"expected a function of 1 argument{of}, found {describe(function)}", f"write `{example}`")
    tests = (inspect.isgeneratorfunction, inspect.isasyncgenfunction, inspect.iscoroutinefunction)
    if any(test(function) for test in tests):
        problem = f"{getattr(function, '__name__', function)!r} is async or a generator, so nothing in it would run"
        table.fail(key, problem, "write a plain `def` without `yield`")
