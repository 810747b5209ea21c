"""Marks of pytest on evals.

pytest stores a mark on the function below it. An eval is a value and not a function, so for a mark above `@eval_test`
pytest returns a mark that has the eval as its last argument. It is moved to the eval's check function, where marks
below `@eval_test` are, too.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from demeanor.core.values.checks import CheckFunction, FunctionCheck
from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval


def unmarked(value: Any) -> Any:
    """The value below the marks of pytest, whose evals have the marks now; any other value as it is."""
    if not _is_mark(value) or not value.mark.args:
        return value
    *arguments, below = value.mark.args
    inner = unmarked(below)
    evals = [item for item in (inner if isinstance(inner, tuple) else (inner,)) if isinstance(item, Eval)]
    if not evals:
        return value
    _refuse_parametrize([value.mark], "above @eval_test", evals[0])
    mark = copy.copy(value.mark)
    object.__setattr__(mark, "args", tuple(arguments))
    for function in {id(function): function for eval_ in evals for function in check_functions(eval_)}.values():
        marks = _listed(function)
        if mark not in marks:
            vars(function)["pytestmark"] = [*marks, mark]
    return inner


def marks_of(eval_: Eval, *, of_module: bool) -> Iterator[Any]:
    """The marks of an eval, its class and its case, with `of_module` also of its module. parametrize makes cases."""
    for function in check_functions(eval_):
        module: dict[str, Any] = getattr(inspect.unwrap(function), "__globals__", {})
        marks = [mark for holder in (function, *_classes(eval_, module)) for mark in _listed(holder)]
        marks += _as_list(module.get("pytestmark", ())) if of_module else []
        yield from (mark for mark in marks if mark.name != "parametrize")
    yield from (mark for check in eval_.checks if isinstance(check, FunctionCheck) for mark in check.marks)


def reject_wide_parametrize(evals: Iterable[Eval], module: Mapping[str, Any]) -> None:
    """Raise BadInput if the class or the module of an eval is parametrized: nothing would make the cases."""
    for eval_ in evals:
        _refuse_parametrize(_as_list(module.get("pytestmark", ())), "on the module", eval_)
        for holder in _classes(eval_, module):
            _refuse_parametrize(_listed(holder), "on the class", eval_)


def _refuse_parametrize(marks: Iterable[Any], place: str, eval_: Eval) -> None:
    if any(mark.name == "parametrize" for mark in marks):
        where = f"{eval_.source.path}:{eval_.source.line}"
        remedy = "put it below @eval_test, which makes one eval of each case"
        raise BadInput(f"parametrize is {place}", where=where, remedy=remedy)


def check_functions(eval_: Eval) -> list[CheckFunction]:
    """The author's functions among the checks of an eval."""
    return [check.function for check in eval_.checks if isinstance(check, FunctionCheck)]


def _is_mark(value: object) -> bool:
    return type(value).__name__ == "MarkDecorator" and type(value).__module__.startswith(("_pytest.", "pytest"))


def _classes(eval_: Eval, module: Mapping[str, Any]) -> list[type]:
    """The classes of a module that have the eval."""
    return [value for value in module.values() if isinstance(value, type) and _has(value, eval_)]


def _has(holder: type, eval_: Eval) -> bool:
    values = [unmarked(value) for value in vars(holder).values()]
    return any(part is eval_ for value in values for part in (value if isinstance(value, list | tuple) else (value,)))


def _listed(holder: object) -> list[Any]:
    return _as_list(getattr(holder, "pytestmark", ()))


def _as_list(marks: Any) -> list[Any]:
    """`pytestmark` is one mark or several; each has `mark` if it was assigned by the author."""
    several = marks if isinstance(marks, list | tuple) else [marks]
    return [getattr(mark, "mark", mark) for mark in several]
