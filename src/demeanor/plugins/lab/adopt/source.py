"""Python literals for hostile text: printable, on lines that an editor shows as they are."""

from __future__ import annotations

import json
import keyword
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

from demeanor.core.text.wording import printable

_DEEPEST = 30
_WIDTH = 110
_LONGEST_NAME = 60


class TooDeep(Exception):
    """A value is nested so deeply that no literal is written for it."""


def text_literal(text: str) -> str:
    """A string literal on one line; characters that an editor does not show become escapes."""
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character == " " or (character.isprintable() and printable(character) == character):
        return character
    return character.encode("unicode_escape").decode("ascii")


def long_text(text: str, indent: str) -> str:
    """A string literal; a text of several lines becomes one literal per line, in parentheses."""
    lines = text.splitlines(keepends=True)
    if len(lines) < 2:
        return text_literal(text)
    body = "\n".join(f"{indent}    {text_literal(line)}" for line in lines)
    return f"(\n{body}\n{indent})"


def content_literal(content: bytes, indent: str) -> str:
    """A literal for the content of a file: text if it is text, else bytes."""
    try:
        return long_text(content.decode("utf-8"), indent)
    except UnicodeDecodeError:
        return repr(content)


def literal(value: Any, depth: int = 0) -> str:
    """A literal for a JSON value; raises TooDeep."""
    if depth > _DEEPEST:
        raise TooDeep
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(value, Mapping):
        inside = (f"{literal(str(key), depth + 1)}: {literal(item, depth + 1)}" for key, item in value.items())
        return f"{{{', '.join(inside)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(literal(item, depth + 1) for item in value)}]"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return (
        repr(value) if value is None or isinstance(value, bool | int | float) else text_literal(json.dumps(str(value)))
    )


def call(function: str, words: Iterable[str], indent: str) -> str:
    """A call on one line, or with an argument per line if it is long."""
    words = list(words)
    short = f"{function}({', '.join(words)})"
    if len(indent) + len(short) <= _WIDTH and "\n" not in short:
        return f"{indent}{short}"
    body = "".join(f"{indent}    {word},\n" for word in words)
    return f"{indent}{function}(\n{body}{indent})"


def identifier(text: str) -> str:
    """A function's name from the first words of a text."""
    words = re.findall(r"[a-z0-9]+", text.lower())[:6]
    while len("_".join(words)) > _LONGEST_NAME:
        words.pop()
    name = "_".join(words) or "adopted"
    return f"asked_{name}" if name[0].isdigit() or keyword.iskeyword(name) or name in {"eval_test", "re"} else name


def is_plain_name(name: str) -> bool:
    """Whether an argument of this name can be written as a keyword argument."""
    return name.isidentifier() and not keyword.iskeyword(name)
