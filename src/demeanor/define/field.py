"""One field that an author can write: how it is read, its JSON schema and its documentation."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
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

    schema: Schema | Callable[[], Schema] = field(default_factory=dict)
    """The JSON schema of its value in scenario.toml; a function if it contains documentation, which is read from the
    source and takes a while."""

    toml: Reader | None = None
    """Reads it from scenario.toml; None if it can't be written there."""

    python: Reader | None = None
    """Reads it from the arguments of `@eval_test`; None if it isn't one."""

    required: bool = False
    """Whether scenario.toml must have it."""

    @property
    def doc(self) -> str:
        """What it is, in Markdown."""
        return self.text or (field_docs(self.doc_of)[self.name] if self.doc_of else "")


def read_fields(table: Table, fields: Sequence[Field], *, python: bool = False) -> dict[str, Any]:
    """The values of the `fields` that the table has; a missing required key and an unknown key are a BadInput."""
    found = {}
    for one in fields:
        reader = one.python if python else one.toml
        if reader is not None and (table.anything(one.name) is not None or (one.required and not python)):
            found[one.name] = reader(table, one.name)
    table.finish()
    return found


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
        found = f"{getattr(function, '__name__', function)!r} is async or a generator, so nothing in it would run"
        table.fail(key, found, "write a plain `def` without `yield`")


def object_schema(fields: Iterable[Field]) -> Schema:
    """The JSON schema of a table with these fields."""
    written = [one for one in fields if one.toml is not None]
    properties = {one.name: {**_schema(one), "description": _plain(one)} for one in written}
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [one.name for one in written if one.required]
    return {**found, "required": required} if required else found


def _schema(one: Field) -> Schema:
    return one.schema() if callable(one.schema) else one.schema


def _plain(one: Field) -> str:
    doc = without_links(one.doc)
    return f"{doc} Default: {one.default}." if one.default else doc


def without_links(doc: str) -> str:
    """The documentation without links, which lead nowhere in an editor."""
    return re.sub(r";? see \[[\w ]+\]\([^)]*\)| See \[[\w ]+\]\([^)]*\)\.", "", doc)


def field_docs(kind: type) -> dict[str, str]:
    """The docstring under each field of a dataclass, read from its source."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    found: dict[str, str] = {}
    lines = body.body if isinstance(body, ast.ClassDef) else []
    for line, below in pairwise(lines):
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and isinstance(below, ast.Expr):
            found[line.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return found
