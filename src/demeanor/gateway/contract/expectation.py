"""What a case expects of a place in the output, and how it is told when it is not so."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable
from typing import Any

from demeanor.gateway.contract.paths import ABSENT, look_up

_WIDTH = 160


def unmet(output: Any, expected: dict[str, Any]) -> list[str]:
    """What is not as expected, place by place; each as readable lines."""
    return [line for path, wanted in expected.items() for line in _check(output, path, wanted)]


def shown(value: Any) -> str:
    """A value on one line, for people."""
    if value is ABSENT:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def difference(wanted: Any, found: Any) -> str:
    """Two values, line by line, where they differ."""
    before, after = (
        json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False).splitlines() for value in (wanted, found)
    )
    lines = list(difflib.unified_diff(before, after, lineterm="", n=2))
    return "\n".join(f"      {line}" for line in lines[2:])


def _check(output: Any, path: str, wanted: Any) -> list[str]:
    found = look_up(output, path)
    if not (isinstance(wanted, dict) and wanted and all(key.startswith("$") for key in wanted)):
        wanted = {"$is": wanted}
    told = []
    for word, argument in wanted.items():
        if word not in _WORDS:
            raise ValueError(f"{path}: unknown expectation {word!r}; known: {', '.join(sorted(_WORDS))}")
        if not _WORDS[word](found, argument, output):
            told.append(_complaint(path, word, argument, found, output))
    return told


def _complaint(path: str, word: str, argument: Any, found: Any, output: Any) -> str:
    saying = "something" if (word, argument) == ("$absent", False) else _SAYINGS[word].format(shown(argument))
    said = f"{path}: expected {saying}, found {shown(found)}"
    if word in {"$same", "$differs"}:
        said += f"; there is {shown(look_up(output, argument))}"
    if word == "$is" and isinstance(found, dict | list) and isinstance(argument, dict | list):
        said += f"\n{difference(argument, found)}"
    return said


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError):
        return ABSENT


def _has(found: Any, wanted: Any) -> bool:
    """Whether `found` has everything in `wanted`, and perhaps more."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(key in found and _has(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        fits = isinstance(found, list) and len(found) == len(wanted)
        return fits and all(_has(*pair) for pair in zip(found, wanted, strict=True))
    return bool(found == wanted)


def _distinct(found: list[Any]) -> bool:
    return len(set(map(str, found))) == len(found)


def _nowhere(value: Any, words: list[str]) -> bool:
    text = json.dumps(value, ensure_ascii=False)
    return not any(word in text for word in words)


def _in_order(found: Any, words: list[str]) -> bool:
    text = json.dumps(found, ensure_ascii=False)
    places = [text.find(word) for word in words]
    return -1 not in places and places == sorted(places)


_WORDS: dict[str, Callable[[Any, Any, Any], bool]] = {
    "$is": lambda found, wanted, _: bool(found == wanted and type(found) is type(wanted)),
    "$absent": lambda found, wanted, _: (found is ABSENT) is wanted,
    "$has": lambda found, wanted, _: _has(found, wanted),
    "$matches": lambda found, wanted, _: isinstance(found, str) and re.search(wanted, found) is not None,
    "$longest": lambda found, wanted, _: isinstance(found, str | list) and 0 < len(found) <= wanted,
    "$count": lambda found, wanted, _: isinstance(found, list) and len(found) == wanted,
    "$json": lambda found, wanted, _: _parsed(found) == wanted,
    "$same": lambda found, wanted, output: found is not ABSENT and found == look_up(output, wanted),
    "$differs": lambda found, wanted, output: found is not ABSENT and found != look_up(output, wanted),
    "$distinct": lambda found, wanted, _: (
        isinstance(found, list) and (len(set(map(str, found))) == len(found)) is wanted
    ),
    "$nowhere": lambda found, wanted, _: found is not ABSENT and _nowhere(found, wanted),
    "$inOrder": lambda found, wanted, _: found is not ABSENT and _in_order(found, wanted),
    "$over": lambda found, wanted, _: isinstance(found, int | float) and found > wanted,
}
_SAYINGS = {
    "$is": "{}",
    "$absent": "nothing",
    "$has": "something with {}",
    "$matches": "something like {}",
    "$longest": "at most {} long and not empty",
    "$count": "{} of them",
    "$json": "the JSON text of {}",
    "$same": "the same as at {}",
    "$differs": "another value than at {}",
    "$distinct": "no two alike",
    "$nowhere": "none of {} in it",
    "$inOrder": "all of {} in this order",
    "$over": "more than {}",
}
