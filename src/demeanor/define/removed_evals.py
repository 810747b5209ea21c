"""Find the evals that a base commit has and the working tree has not, without running the code of the base commit.

Names are read from the source: functions decorated with `@eval_test(…)`, and the files of scenario and task folders.
The names of evals that a file creates in another way, such as a loop, are not known; such files are listed instead.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from demeanor.define.folder.cline_folder import CONFIG, is_cline_config
from demeanor.define.folder.toml_folder import SCENARIO
from demeanor.define.harbor.task_digest import TASK
from demeanor.define.python.decorated import Function, decorated_functions, is_eval_test
from demeanor.define.python.import_file import is_eval_file


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedEvals:
    """The evals of one file, as far as its source tells."""

    names: frozenset[str] = frozenset()
    """Their names."""

    complete: bool = True
    """False if the file creates further evals whose names are known only when it runs."""


def removed_evals(
    changed: Iterable[str], content_at_base: Callable[[str], str | None], names: Collection[str]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """The removed evals (name → file at the base commit), and the changed files whose evals can't all be named.

    `changed` are the files that differ from the base commit; `names` are those of the evals that exist now.
    """
    removed: dict[str, str] = {}
    unsure: list[str] = []
    for place in sorted(changed):
        if not _can_have_evals(place):
            continue
        content = content_at_base(place)
        if content is None:
            continue
        found = named_evals(place, content)
        removed.update({name: place for name in found.names if name not in names})
        if not found.complete:
            unsure.append(place)
    return removed, tuple(unsure)


def named_evals(place: str, content: str) -> NamedEvals:
    """The evals of a file: a Python file, or the file that makes its folder a scenario or a task."""
    path = PurePosixPath(place)
    try:
        if path.suffix == ".py":
            return _named_in_python(content)
        if path.name == CONFIG:
            return NamedEvals(names=frozenset({path.parent.name} if is_cline_config(content.encode()) else ()))
        table = tomllib.loads(content)
    except (SyntaxError, ValueError, RecursionError):
        return NamedEvals(complete=False)
    own = _table(_table(table, "metadata"), "demeanor") if path.name == TASK else table
    name = own.get("name")
    return NamedEvals(names=frozenset({name if isinstance(name, str) else path.parent.name}))


def _can_have_evals(place: str) -> bool:
    name = PurePosixPath(place).name
    return name in {SCENARIO, CONFIG, TASK} or is_eval_file(name)


def _table(table: dict[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}


def _named_in_python(source: str) -> NamedEvals:
    tree = ast.parse(source)
    decorated = list(decorated_functions(tree))
    names = {name for function, call in decorated for name in _name_of(function, call)}
    calls = sum(is_eval_test(node) for node in ast.walk(tree))
    return NamedEvals(names=frozenset(names), complete=len(names) == len(decorated) == calls)


def _name_of(function: Function, call: ast.Call) -> Iterable[str]:
    """The name of a decorated function's eval; nothing if it is not a plain string."""
    given = [word.value for word in call.keywords if word.arg in {"name", None}]
    if not given:
        return (function.name,)
    value = given[0]
    return (value.value,) if isinstance(value, ast.Constant) and isinstance(value.value, str) else ()
