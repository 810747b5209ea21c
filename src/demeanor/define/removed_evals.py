"""Find the evals that a base commit has and the working tree has not, without running the code of the base commit.

Names are read from the source: functions decorated with `@eval_test(…)` and their cases, and the files of scenario and
task folders. The names of evals that a file creates in another way, such as a loop or from a file of cases, are not
known; such files are listed instead.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from demeanor.config import Table
from demeanor.core.text.json_values import as_dict
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.define.cases import read_cases
from demeanor.define.folder.cline_folder import CONFIG, is_cline_config
from demeanor.define.folder.toml_folder import SCENARIO
from demeanor.define.python.decorated import Function, decorated_functions, is_eval_test
from demeanor.define.python.import_file import is_eval_file
from demeanor.define.sources import policy_tables


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedEvals:
    """The evals of one file, as far as its source tells."""

    names: frozenset[str] = frozenset()
    """Their names."""

    families: frozenset[str] = frozenset()
    """The names, without the id of a case, of evals whose cases are known only when the file runs."""

    complete: bool = True
    """False if the file creates further evals whose names are known only when it runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseEvals:
    """The evals of the base commit in files that have changed since, as far as their source tells."""

    places: dict[str, str]
    """All of them by name, each with its file at the base commit."""

    removed: dict[str, str]
    """Those that do not exist any more, each with its file at the base commit."""

    unsure: tuple[str, ...]
    """The changed files whose evals can't all be named."""


def base_evals(
    changed: Iterable[str], content_at_base: Callable[[str], str | None], evals: Sequence[Eval]
) -> BaseEvals:
    """Compare `evals`, which exist now, with the base commit. `changed` are the files that differ from it."""
    now = {eval_.name for eval_ in evals}
    families = {eval_.cases_of for eval_ in evals if eval_.cases_of}
    places: dict[str, str] = {}
    removed: dict[str, str] = {}
    unsure: list[str] = []
    for place in sorted(changed):
        if not _can_have_evals(place):
            continue
        content = content_at_base(place)
        if content is None:
            continue
        named = named_evals(place, content)
        places.update(dict.fromkeys(named.names, place))
        removed.update({name: place for name in named.names if name not in now})
        removed.update({name: place for name in named.families if name not in now | families})
        if not named.complete:
            unsure.append(place)
    return BaseEvals(places=places, removed=removed, unsure=tuple(unsure))


def named_evals(place: str, content: str) -> NamedEvals:
    """The evals of a file: a Python file, or the file that makes its folder a scenario or a task."""
    path = PurePosixPath(place)
    try:
        if path.suffix == ".py":
            return _named_in_python(content)
        if path.name == CONFIG:
            return NamedEvals(names=frozenset({path.parent.name} if is_cline_config(content.encode()) else ()))
        own: Mapping[str, object] = tomllib.loads(content)
    except (SyntaxError, ValueError, RecursionError):
        return NamedEvals(complete=False)
    for table in policy_tables().get(path.name, ()):
        own = as_dict(own.get(table))
    name = own.get("name")
    family = name if isinstance(name, str) else path.parent.name
    if path.name == SCENARIO and ("case" in own or "cases" in own):
        return _with_cases(family, own.get("case"))
    return NamedEvals(names=frozenset({family}))


def _can_have_evals(place: str) -> bool:
    name = PurePosixPath(place).name
    return name in {SCENARIO, CONFIG, *policy_tables()} or is_eval_file(name)


def _with_cases(family: str, rows: object) -> NamedEvals:
    """The evals of a table of cases; only their common name if the rows are not there to be read."""
    try:
        table = Table({}, where="cases")
        cases = read_cases(rows, table, "cases", Path()) if isinstance(rows, list | tuple) else ()
    except BadInput:
        cases = ()
    if not cases:
        return NamedEvals(families=frozenset({family}), complete=False)
    return NamedEvals(names=frozenset(f"{family}[{case.id}]" for case in cases))


def _named_in_python(source: str) -> NamedEvals:
    tree = ast.parse(source)
    decorated = list(decorated_functions(tree))
    evals = [_named_by(function, call) for function, call in decorated]
    names = frozenset(name for named in evals for name in named.names)
    families = frozenset(name for named in evals for name in named.families)
    calls = sum(is_eval_test(node) for node in ast.walk(tree))
    complete = len(decorated) == calls and all(named.complete for named in evals)
    return NamedEvals(names=names, families=families, complete=complete)


def _named_by(function: Function, call: ast.Call) -> NamedEvals:
    """The evals of a decorated function; none if its name is not a plain string."""
    name: Any = function.name
    for word in call.keywords:
        if word.arg in {"name", None}:
            name = word.value.value if isinstance(word.value, ast.Constant) else None
            break
    if not isinstance(name, str):
        return NamedEvals(complete=False)
    cases = [word.value for word in call.keywords if word.arg == "cases"]
    if cases:
        return _with_cases(name, _literal(cases[0]))
    if any("parametrize" in ast.dump(decorator) for decorator in function.decorator_list):
        return _with_cases(name, None)
    return NamedEvals(names=frozenset({name}))


def _literal(node: ast.expr) -> object:
    """The value of a literal; None if it is computed."""
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return value
