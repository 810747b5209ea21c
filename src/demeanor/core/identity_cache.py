"""Remembers the results of pure functions whose arguments can't be hashed."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_MOST = 512
"""Results per function; a project has fewer scenarios that run at the same time."""


def by_identity(function: Callable[P, R]) -> Callable[P, R]:
    """The function, called once for the same objects. For arguments that are frozen but hold mappings, such as a
    scenario: the trials of an eval share them."""
    results: dict[tuple[int, ...], tuple[Any, R]] = {}

    @wraps(function)
    def remembered(*args: P.args, **kwargs: P.kwargs) -> R:
        objects = (*args, *kwargs.values())
        key = tuple(map(id, objects))
        result = results.get(key)
        if result is None:
            if len(results) >= _MOST:
                results.clear()
            result = results[key] = (objects, function(*args, **kwargs))  # the objects live on, so no id is reused
        return result[1]

    return remembered
