"""Cases: one eval per row of a table, with the row's values in its prompt and files.

The rows stand in the eval itself (`cases=[…]`, `[[case]]`, `pytest.mark.parametrize`) or in a JSON Lines or CSV file
next to it. `{field}` is replaced only where a row has that field, so braces in code stay as they are.
"""

from __future__ import annotations

import functools
import inspect
import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields as dataclass_fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from demeanor.config import Table, describe
from demeanor.core.values.errors import BadInput, Unusable
from demeanor.core.values.eval import Eval, name_problem
from demeanor.core.values.fingerprints import short_hash
from demeanor.core.values.mcp_fixture import Fixture, FixtureTool, HttpServer, Reply
from demeanor.core.values.scenario import PriorCall, PriorMessage
from demeanor.core.values.steering import Steer
from demeanor.core.values.user import ScriptedUser, SimulatedUser, UserReply
from demeanor.define.repository import refuse_outside

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w*)\}")
_LONGEST_ID = 60
_WHOLE = "case"
"""The parameter of a function that receives all fields of the case."""

_FILLED = (
    Fixture,
    FixtureTool,
    HttpServer,
    Reply,
    UserReply,
    ScriptedUser,
    SimulatedUser,
    Steer,
    PriorMessage,
    PriorCall,
)
"""The values of an eval whose texts may have placeholders."""

Fields: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file with one case per line."""

    path: Path
    """Relative to the eval's file."""

    format: Literal["jsonl", "csv"]
    """How it is written."""


@dataclass(frozen=True, slots=True)
class EvalCase:
    """One row."""

    id: str
    """What stands in brackets behind the eval's name."""

    fields: Fields
    """Its values."""

    marks: tuple[Any, ...] = ()
    """Its marks of pytest: `pytest.param(…, marks=…)`."""


def jsonl(path: str | Path) -> CaseFile:
    """The cases in a file with one JSON object per line; the path is relative to the eval's file."""
    return CaseFile(Path(path), "jsonl")


def csv(path: str | Path) -> CaseFile:
    """The cases in a CSV file whose first line names the fields; the path is relative to the eval's file."""
    return CaseFile(Path(path), "csv")


def read_cases(value: object, table: Table, key: str, folder: Path) -> tuple[EvalCase, ...]:
    """The cases that an author gave: a list of mappings, or a file below `folder`."""
    if isinstance(value, str | Path):
        value = _file_by_suffix(Path(value), table, key)
    if isinstance(value, CaseFile):
        return _cases(_rows(folder / value.path, value.format), str(value.path), table, key)
    if not isinstance(value, Sequence) or isinstance(value, bytes):
        table.fail(key, f"expected a list of mappings, jsonl(…) or csv(…), found {describe(value)}")
    return _cases(enumerate(value, 1), "", table, key)


def parametrized_cases(function: Any, table: Table) -> tuple[EvalCase, ...]:
    """The cases of `pytest.mark.parametrize` on a function; several marks are combined."""
    marks = [mark for mark in getattr(function, "pytestmark", ()) if mark.name == "parametrize"]
    axes = [(EvalCase("", {}),)] if not marks else [_of_mark(mark, table) for mark in marks]
    combined = [
        EvalCase(
            "-".join(case.id for case in several if case.id),
            {name: value for case in several for name, value in case.fields.items()},
            tuple(mark for case in several for mark in case.marks),
        )
        for several in itertools.product(*axes)
    ]
    return tuple(combined) if marks else ()


def fill(value: Any, fields: Fields) -> Any:
    """The value with `{field}` replaced in every text of it."""
    if isinstance(value, str):
        return _PLACEHOLDER.sub(lambda match: _text(fields[match[1]]) if match[1] in fields else match[0], value)
    if isinstance(value, Mapping):
        return {fill(key, fields): fill(item, fields) for key, item in value.items()}
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return type(value)(fill(item, fields) for item in value)
    if isinstance(value, _FILLED):
        return replace(
            value, **{field.name: fill(getattr(value, field.name), fields) for field in dataclass_fields(value)}
        )
    return value


def as_case(eval_: Eval, case: EvalCase, table: Table) -> Eval:
    """The eval as one of several cases. A prompt that still has a placeholder most likely has it misspelt."""
    for prompt in eval_.scenario.prompts:
        if match := _unfilled(prompt, case.fields):
            problem = f"the case {case.id!r} has no field {match!r}; its fields: {', '.join(case.fields)}"
            table.fail("prompt", problem, "add the field; for text in braces, use a field that contains it")
    return replace(eval_, name=f"{eval_.name}[{case.id}]", cases_of=eval_.name)


def _unfilled(prompt: str, fields: Fields) -> str | None:
    """A placeholder in a prompt that is not in the value of a field itself."""
    for value in fields.values():
        prompt = prompt.replace(_text(value), "")
    match = _PLACEHOLDER.search(prompt)
    return match[1] if match else None


def arguments(function: Callable[..., Any], positional: int, fields: Fields) -> dict[str, Any]:
    """The fields that a function takes by name behind its first parameters; `case` stands for all of them."""
    try:
        names = list(inspect.signature(function).parameters)[positional:]
    except (TypeError, ValueError):
        return {}
    values = {_WHOLE: dict(fields), **fields}
    return {name: values[name] for name in names if name in values}


def bind(function: Any, positional: int, fields: Fields) -> Any:
    """The function with the fields that it takes by name already given."""
    if not callable(function) or not (values := arguments(function, positional, fields)):
        return function
    bound = functools.update_wrapper(functools.partial(function, **values), function)
    del bound.__wrapped__  # its signature would be that of the function
    return bound


def _file_by_suffix(path: Path, table: Table, key: str) -> CaseFile:
    if path.suffix in {".jsonl", ".csv"}:
        return CaseFile(path, "csv" if path.suffix == ".csv" else "jsonl")
    return table.fail(
        key, f"{str(path)!r} is neither a .jsonl nor a .csv file", "rename it, or write the cases as a list"
    )


def _rows(path: Path, kind: str) -> Iterator[tuple[int, Any]]:
    """The rows of a file, each with its line."""
    refuse_outside(path, where=path)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        error_type = Unusable if isinstance(error, FileNotFoundError) else BadInput
        raise error_type(f"can't be read: {error}", where=path, remedy="cases are UTF-8 files") from None
    if kind == "csv":
        import csv as csv_module

        reader = csv_module.DictReader(io.StringIO(text, newline=""), strict=True)
        try:
            for row in reader:
                if None in row or None in row.values():
                    remedy = "give every line as many values as the first line has names"
                    raise BadInput("the number of values is wrong", where=f"{path}:{reader.line_num}", remedy=remedy)
                yield reader.line_num, row
        except csv_module.Error as error:
            raise BadInput(f"not valid CSV: {error}", where=f"{path}:{reader.line_num}") from None
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except (ValueError, RecursionError) as error:
                remedy = "write one JSON object per line"
                raise BadInput(f"not valid JSON: {error}", where=f"{path}:{number}", remedy=remedy) from None


def _cases(rows: Iterable[tuple[int, Any]], file: str, table: Table, key: str) -> tuple[EvalCase, ...]:
    cases: dict[str, EvalCase] = {}
    for number, row in rows:
        place = f"line {number} of {file}" if file else f"case {number}"
        case = _case(row, place, table, key)
        if case.id in cases:
            table.fail(key, f"{place}: another case has the id {case.id!r}", 'give each case its own "id"')
        cases[case.id] = case
    if not cases:
        table.fail(key, "there is no case, so nothing would run", "give at least one")
    return tuple(cases.values())


def _case(row: Any, place: str, table: Table, key: str) -> EvalCase:
    if not isinstance(row, Mapping):
        table.fail(key, f"{place}: expected a mapping of fields, found {describe(row)}")
    for name in row:
        if not isinstance(name, str) or not name.isidentifier():
            table.fail(key, f"{place}: {name!r} can't be the name of a field", "use letters, digits and underscores")
    fields = {name: value for name, value in row.items() if name != "id"}
    if "id" not in row:
        return EvalCase(_derived_id(fields.values()), fields)
    own = row["id"]
    if isinstance(own, bool) or not isinstance(own, str | int) or (problem := name_problem(str(own))):
        problem = "an id is a string or a whole number" if not isinstance(own, str) else name_problem(own)
        table.fail(key, f"{place}: {own!r} can't be an id", problem)
    return EvalCase(str(own), {"id": own, **fields})


def _derived_id(values: Iterable[Any]) -> str:
    """An id that depends only on the case, not on its place: its values if they are short, otherwise their hash."""
    values = list(values)
    text = "-".join(map(_text, values))
    readable = all(isinstance(value, str | int | float) or value is None for value in values)
    if readable and text and len(text) <= _LONGEST_ID and name_problem(text) is None:
        return text
    return short_hash(repr(values))


def _of_mark(mark: Any, table: Table) -> tuple[EvalCase, ...]:
    marked = {**dict(zip(("argnames", "argvalues", "indirect"), mark.args, strict=False)), **mark.kwargs}
    if marked.get("indirect"):
        table.fail(
            "parametrize", "indirect is not supported: the values would not reach the fixture", "call it yourself"
        )
    names, ids = marked["argnames"], marked.get("ids")
    names = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    ids = ids if callable(ids) or ids is None else list(ids)
    cases = []
    for number, value_set in enumerate(marked["argvalues"]):
        is_param = hasattr(value_set, "marks")  # pytest.param(…)
        row = value_set.values if is_param else value_set
        values = [row] if len(names) == 1 and not is_param else list(row)
        if len(values) != len(names):
            table.fail("parametrize", f"{len(names)} names, but {len(values)} values: {values!r}")
        own = getattr(value_set, "id", None) if is_param else None
        if own is None and callable(ids):
            shown = [ids(value) for value in values]
            own = "-".join(map(str, shown)) if None not in shown else None
        elif own is None and ids is not None:
            own = ids[number]
        case = _pytest_id(values) if own is None else str(own)
        marks = tuple(getattr(mark, "mark", mark) for mark in value_set.marks) if is_param else ()
        cases.append(EvalCase(case, dict(zip(names, values, strict=True)), marks))
    return tuple(cases)


def _pytest_id(values: Sequence[Any]) -> str:
    """An id as pytest makes it: `True` and `None`, where other cases have `true` and `null`."""
    return _derived_id([str(value) if isinstance(value, bool | None) else value for value in values])


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
