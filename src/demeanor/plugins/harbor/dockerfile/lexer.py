"""Splits a Dockerfile's text into words, and expands quotes, escapes and variables. As in Docker, not as in a shell."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_]\w*")


def split(text: str) -> list[str]:
    """Split a text at blanks outside of quotes and not after a backslash; the words keep their quotes."""
    words: list[str] = []
    word, quote, at = "", "", 0
    while at < len(text):
        char = text[at]
        if char == "\\" and quote != "'" and at + 1 < len(text):
            word += text[at : at + 2]
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in " \t":
            if word:
                words.append(word)
            word, at = "", at + 1
            continue
        word += char
        at += 1
    return [*words, word] if word else words


def expand(word: str, values: Mapping[str, str]) -> str:
    """Remove the quotes of a word and expand its variables; raises ValueError for what Docker refuses too, or for what
    is not supported.
    """
    return _Reader(word, values).read("")


class _Reader:
    """Expands one word from left to right."""

    def __init__(self, text: str, values: Mapping[str, str]) -> None:
        self._text, self._values, self._at = text, values, 0

    def _next(self) -> str:
        char = self._text[self._at : self._at + 1]
        self._at += 1
        return char

    def read(self, until: str) -> str:
        """Expand up to a character, and skip that."""
        out, quote = "", ""
        while char := self._next():
            if char == until and not quote:
                return out
            if char == "\\" and quote != "'":
                escaped = self._next()
                out += escaped if not quote or escaped in '"$\\' else f"\\{escaped}"
            elif char == quote:
                quote = ""
            elif char in "'\"" and not quote:
                quote = char
            elif char == "$" and quote != "'":
                out += self._variable()
            else:
                out += char
        if quote or until:
            raise ValueError(f"{quote or '}'} is missing in {self._text}")
        return out

    def _variable(self) -> str:
        if self._text[self._at : self._at + 1] != "{":
            match = _NAME.match(self._text, self._at)
            if not match:
                return "$"
            self._at = match.end()
            return self._values.get(match[0], "")
        self._at += 1
        match = _NAME.match(self._text, self._at)
        if not match:
            raise ValueError(f"the name of a variable is missing in {self._text}")
        self._at = match.end()
        char = self._next()
        if char == "}":
            return self._values.get(match[0], "")
        empty_counts_as_unset = char == ":"
        operator = self._next() if empty_counts_as_unset else char
        if operator not in ("-", "+", "?"):
            raise ValueError(f"${{{match[0]}{char}…}} is not supported; use one of :- :+ :? - + ?")
        other = self.read("}")
        value = self._values.get(match[0])
        is_set = bool(value) if empty_counts_as_unset else value is not None
        if operator == "-":
            return value or "" if is_set else other
        if operator == "+":
            return other if is_set else ""
        if not is_set:
            raise ValueError(f"{match[0]} has no value: {other}")
        return value or ""
