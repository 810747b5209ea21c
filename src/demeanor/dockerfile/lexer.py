"""Words of a Dockerfile: quotes, escapes, and variables put in. As in Docker, and not as in a shell."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_]\w*")


def split(text: str) -> list[str]:
    """Words as they are written, with their quotes; blanks within quotes or after a backslash do not divide."""
    words: list[str] = []
    word, quote, at = "", "", 0
    while at < len(text):
        sign = text[at]
        if sign == "\\" and quote != "'" and at + 1 < len(text):
            word += text[at : at + 2]
            at += 2
            continue
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        elif sign in " \t":
            if word:
                words.append(word)
            word, at = "", at + 1
            continue
        word += sign
        at += 1
    return [*words, word] if word else words


def expand(word: str, values: Mapping[str, str]) -> str:
    """A word without its quotes, with variables put in; raises ValueError for what Docker would refuse too, or for
    what is not known here.
    """
    return _Reader(word, values).read("")


class _Reader:
    """Reads one word from left to right."""

    def __init__(self, text: str, values: Mapping[str, str]) -> None:
        self._text, self._values, self._at = text, values, 0

    def _next(self) -> str:
        sign = self._text[self._at : self._at + 1]
        self._at += 1
        return sign

    def read(self, until: str) -> str:
        """All up to a sign, which is passed over."""
        out, quote = "", ""
        while sign := self._next():
            if sign == until and not quote:
                return out
            if sign == "\\" and quote != "'":
                follows = self._next()
                out += follows if not quote or follows in '"$\\' else f"\\{follows}"
            elif sign == quote:
                quote = ""
            elif sign in "'\"" and not quote:
                quote = sign
            elif sign == "$" and quote != "'":
                out += self._variable()
            else:
                out += sign
        if quote or until:
            raise ValueError(f"{quote or '}'} is missing in {self._text}")
        return out

    def _variable(self) -> str:
        if self._text[self._at : self._at + 1] != "{":
            found = _NAME.match(self._text, self._at)
            if not found:
                return "$"
            self._at = found.end()
            return self._values.get(found[0], "")
        self._at += 1
        found = _NAME.match(self._text, self._at)
        if not found:
            raise ValueError(f"no name of a variable in {self._text}")
        self._at = found.end()
        sign = self._next()
        if sign == "}":
            return self._values.get(found[0], "")
        even_empty = sign == ":"
        how = self._next() if even_empty else sign
        if how not in ("-", "+", "?"):
            raise ValueError(f"${{{found[0]}{sign}…}} is not known here; known are :- :+ :? - + ?")
        other = self.read("}")
        value = self._values.get(found[0])
        there = bool(value) if even_empty else value is not None
        if how == "-":
            return value or "" if there else other
        if how == "+":
            return other if there else ""
        if not there:
            raise ValueError(f"{found[0]} has no value: {other}")
        return value or ""
