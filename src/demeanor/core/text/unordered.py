"""Lists in prompts and tools whose order has no meaning: agents build them from a set, so the order varies.

They are `<available_skills>…</available_skills>` and every other `<available_…>` element, `(Available: 'a', 'b')`, and
the `enum` of a tool's schema. Each is sorted before two requests are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

_AVAILABLE = re.compile(r"<(available_\w+)>")
_ELEMENT = re.compile(r"<([A-Za-z][\w-]*+)[^<>]*>")
_BULLET = re.compile(r"(?m)^[-*] .*(?:\n(?![-*] |\s*$).*)*")
_NAMES = re.compile(r"(?<=\(Available: )'[^'\n]+'(?:, '[^'\n]+')+(?=\))")


def sort_sets(text: str) -> str:
    """The text with the items of each set in alphabetical order."""
    if "<available_" in text:
        text = _replaced(text, [(a, b, _sort_items(text[a:b])) for _, a, b, _ in _elements(text, _AVAILABLE)])
    if "(Available: " in text:
        text = _NAMES.sub(lambda match: ", ".join(sorted(match[0].split(", "))), text)
    return text


def sort_enums(schema: Any) -> Any:
    """A JSON schema with the values of each `enum` in alphabetical order."""
    if isinstance(schema, list | tuple):
        return [sort_enums(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: sorted(value, key=repr) if key == "enum" and isinstance(value, list | tuple) else sort_enums(value)
        for key, value in schema.items()
    }


def _sort_items(content: str) -> str:
    """Sort the elements or, if there are none, the bullet points; the text between them stays where it is."""
    places = [(start, end) for start, _, _, end in _elements(content, _ELEMENT)]
    places = places or [bullet.span() for bullet in _BULLET.finditer(content)]
    items = sorted(content[start:end] for start, end in places)
    return _replaced(content, [(*place, item) for place, item in zip(places, items, strict=True)])


def _elements(text: str, opening: re.Pattern[str]) -> Iterator[tuple[int, int, int, int]]:
    """Where each outermost element and its content begin and end, in linear time: an agent wrote the text."""
    last: dict[str, int] = {}
    done = 0
    for bracket in opening.finditer(text):
        close = f"</{bracket[1]}>"
        if close not in last:
            last[close] = text.rfind(close)
        if done <= bracket.start() and bracket.end() <= last[close]:
            end = text.find(close, bracket.end())
            done = end + len(close)
            yield bracket.start(), bracket.end(), end, done


def _replaced(text: str, changes: Sequence[tuple[int, int, str]]) -> str:
    """The text with other text in some places."""
    parts, done = [], 0
    for start, end, new in changes:
        parts += [text[done:start], new]
        done = end
    return "".join([*parts, text[done:]])
