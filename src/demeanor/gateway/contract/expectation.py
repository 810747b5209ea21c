"""Checks the output of a translation against the expectations of a case.

Paths are written like `messages[1].content[*].type`, `messages[role=tool].content` or `output[-1].id`. `[*]` and
`[key=value]` select every matching item, so the value of such a path is a list.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from demeanor.core.text.wording import shortened

ABSENT = object()
"""The value of a path that does not exist."""

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d+)\]|\[(\*)\]|\[([^=\]]+)=([^\]]*)\]")
_WIDTH = 160


def mismatches(output: Any, expected: dict[str, Any], *, equivalent: Sequence[Any] = ()) -> list[str]:
    """The expectations that are not met, in order of their paths, as readable text.

    Each must be met by the output or by one of its equivalent spellings.
    """
    return [
        line
        for path, argument in expected.items()
        if (problems := _check(output, path, argument)) and all(_check(other, path, argument) for other in equivalent)
        for line in problems
    ]


def one_line_json(value: Any) -> str:
    """A value as JSON on one line, for display."""
    if value is ABSENT:
        return "nothing"
    return shortened(json.dumps(value, ensure_ascii=False), _WIDTH)


def difference(expected: Any, actual: Any) -> str:
    """A unified diff of two values as JSON."""
    before, after = (
        json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).splitlines() for value in (expected, actual)
    )
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))
    return "\n".join(f"      {line}" for line in lines[2:])


def look_up(data: Any, path: str) -> Any:
    """The value at `path` in `data`; ABSENT if there is none."""
    values, many = [data], False
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"path {path!r}: syntax error at character {at}")
        at = step.end()
        key, index, star, name, value = step.groups()
        many = many or star is not None or name is not None
        values = [below for item in values for below in _step_into(item, key, index, star, name, value)]
    if many:
        return values
    return values[0] if values else ABSENT


def _step_into(
    item: Any, key: str | None, index: str | None, star: str | None, name: str | None, value: str | None
) -> list[Any]:
    if key is not None:
        return [item[key]] if isinstance(item, dict) and key in item else []
    if not isinstance(item, list):
        return []
    if index is not None:
        at = int(index)
        return [item[at]] if -len(item) <= at < len(item) else []
    if star is not None:
        return item
    return [below for below in item if isinstance(below, dict) and str(below.get(name)) == value]


def _check(output: Any, path: str, expected: Any) -> list[str]:
    actual = look_up(output, path)
    if not (isinstance(expected, dict) and expected and all(key.startswith("$") for key in expected)):
        expected = {"$is": expected}
    problems = []
    for operator, argument in expected.items():
        if operator not in _OPERATORS:
            raise ValueError(f"{path}: unknown expectation {operator!r}; known: {', '.join(sorted(_OPERATORS))}")
        if not _OPERATORS[operator](actual, argument, output):
            problems.append(_describe_mismatch(path, operator, argument, actual, output))
    return problems


def _describe_mismatch(path: str, operator: str, argument: Any, actual: Any, output: Any) -> str:
    expectation = (
        "something"
        if (operator, argument) == ("$absent", False)
        else _DESCRIPTIONS[operator].format(one_line_json(argument))
    )
    message = f"{path}: expected {expectation}, found {one_line_json(actual)}"
    if operator in {"$same", "$differs"}:
        message += f"; there is {one_line_json(look_up(output, argument))}"
    if operator == "$is" and isinstance(actual, dict | list) and isinstance(argument, dict | list):
        message += f"\n{difference(argument, actual)}"
    return message


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return ABSENT


def _has(actual: Any, expected: Any) -> bool:
    """Whether `actual` contains everything in `expected`, and possibly more."""
    if isinstance(expected, dict):
        return isinstance(actual, dict) and all(key in actual and _has(actual[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        fits = isinstance(actual, list) and len(actual) == len(expected)
        return fits and all(_has(*pair) for pair in zip(actual, expected, strict=True))
    return bool(actual == expected)


def _nowhere(value: Any, words: list[str]) -> bool:
    text = json.dumps(value, ensure_ascii=False)
    return not any(word in text for word in words)


def _in_order(actual: Any, words: list[str]) -> bool:
    text = json.dumps(actual, ensure_ascii=False)
    places = [text.find(word) for word in words]
    return -1 not in places and places == sorted(places)


_OPERATORS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "$is": lambda actual, expected, _: bool(actual == expected and type(actual) is type(expected)),
    "$absent": lambda actual, expected, _: (actual is ABSENT) is expected,
    "$has": lambda actual, expected, _: _has(actual, expected),
    "$matches": lambda actual, expected, _: isinstance(actual, str) and re.search(expected, actual) is not None,
    "$longest": lambda actual, expected, _: isinstance(actual, str | list) and 0 < len(actual) <= expected,
    "$count": lambda actual, expected, _: isinstance(actual, list) and len(actual) == expected,
    "$json": lambda actual, expected, _: _parsed(actual) == expected,
    "$same": lambda actual, expected, output: actual is not ABSENT and actual == look_up(output, expected),
    "$differs": lambda actual, expected, output: actual is not ABSENT and actual != look_up(output, expected),
    "$distinct": lambda actual, expected, _: (
        isinstance(actual, list) and (len(set(map(str, actual))) == len(actual)) is expected
    ),
    "$nowhere": lambda actual, expected, _: actual is not ABSENT and _nowhere(actual, expected),
    "$inOrder": lambda actual, expected, _: actual is not ABSENT and _in_order(actual, expected),
    "$over": lambda actual, expected, _: isinstance(actual, int | float) and actual > expected,
}
_DESCRIPTIONS = {
    "$is": "{}",
    "$absent": "nothing",
    "$has": "something with {}",
    "$matches": "something like {}",
    "$longest": "at most {} long and not empty",
    "$count": "{} of them",
    "$json": "the JSON text of {}",
    "$same": "the same as at {}",
    "$differs": "a value other than at {}",
    "$distinct": "all values to differ",
    "$nowhere": "none of {} in it",
    "$inOrder": "all of {} in this order",
    "$over": "more than {}",
}
