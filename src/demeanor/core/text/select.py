"""Select evals with a keyword expression like pytest's -k: `notes and not slow`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NoReturn

from demeanor.core.values.errors import UsageError


def keyword_matcher(expression: str) -> Callable[[Iterable[str]], bool]:
    """A predicate on an eval's words for an expression such as `notes and not slow`."""
    if not expression.strip():
        return lambda words: True
    tokens = re.findall(r"\(|\)|[^\s()]+", expression)
    parser = _Parser(tokens, expression)
    test = parser.either()
    if parser.left:
        parser.fail()
    return lambda words: test(" ".join(words).lower())


class _Parser:
    """Recursive descent over `or`, `and`, `not`, brackets and words."""

    def __init__(self, left: list[str], expression: str) -> None:
        self.left = left
        self.expression = expression

    def fail(self) -> NoReturn:
        raise UsageError(
            f"-k {self.expression!r} is not a valid expression\n  → write words with and, or, not and brackets"
        )

    def either(self) -> Callable[[str], bool]:
        left = self.both()
        while self.left and self.left[0] == "or":
            self.left.pop(0)
            left = _or(left, self.both())
        return left

    def both(self) -> Callable[[str], bool]:
        left = self.one()
        while self.left and self.left[0] == "and":
            self.left.pop(0)
            left = _and(left, self.one())
        return left

    def one(self) -> Callable[[str], bool]:
        word = self.left.pop(0) if self.left else ""
        if word == "not":
            inner = self.one()
            return lambda text: not inner(text)
        if word == "(":
            inner = self.either()
            if not self.left or self.left.pop(0) != ")":
                self.fail()
            return inner
        if word in {"", ")", "and", "or"}:
            self.fail()
        return lambda text: word.lower() in text


def _or(left: Callable[[str], bool], right: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: left(text) or right(text)


def _and(left: Callable[[str], bool], right: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: left(text) and right(text)
