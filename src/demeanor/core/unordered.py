"""Lists in prompts and tools whose order has no meaning: agents build them from a set, so the order varies.

They are `<available_skills>…</available_skills>` and every other `<available_…>` element, `(Available: 'a', 'b')`, and
the `enum` of a tool's schema. Each is sorted before two requests are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_AVAILABLE = re.compile(r"(?s)<(available_\w+)>(.*?)</\1>")
_ELEMENT = re.compile(r"(?s)<([A-Za-z][\w-]*)\b[^<>]*>.*?</\1>")
_BULLET = re.compile(r"(?m)^[-*] .*(?:\n(?![-*] |\s*$).*)*")
_NAMES = re.compile(r"(?<=\(Available: )'[^'\n]+'(?:, '[^'\n]+')+(?=\))")


def sort_sets(text: str) -> str:
    """The text with the items of each set in alphabetical order."""
    if "<available_" in text:
        text = _AVAILABLE.sub(lambda found: f"<{found[1]}>{_sort_items(found[2])}</{found[1]}>", text)
    if "(Available: " in text:
        text = _NAMES.sub(lambda found: ", ".join(sorted(found[0].split(", "))), text)
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
    pattern = _ELEMENT if _ELEMENT.search(content) else _BULLET
    items: Iterator[str] = iter(sorted(found[0] for found in pattern.finditer(content)))
    return pattern.sub(lambda _: next(items), content)
