"""Select evals with a keyword expression like pytest's -k: `notes and not slow`.

Words without an operator between them are a phrase, which also matches names with `_`, `-`, `/` or `:` in its place.
"""

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
    return lambda words: test(_spaced(" ".join(words)))


def _spaced(text: str) -> str:
    """Lower case, with one space in place of what separates words."""
    return re.sub(r"[\s_:/-]+", " ", text.lower()).strip()


_SYNTAX = frozenset({"(", ")", "and", "or", "not"})


class _Parser:
    """Recursive descent over `or`, `and`, `not`, brackets and phrases."""

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
        if self.left[:1] == ["not"]:
            self.left.pop(0)
            inner = self.one()
            return lambda text: not inner(text)
        if self.left[:1] == ["("]:
            self.left.pop(0)
            inner = self.either()
            if not self.left or self.left.pop(0) != ")":
                self.fail()
            return inner
        return self.phrase()

    def phrase(self) -> Callable[[str], bool]:
        words = []
        while self.left and self.left[0] not in _SYNTAX:
            words.append(self.left.pop(0))
        phrase = _spaced(" ".join(words))
        if not phrase:
            self.fail()
        return lambda text: phrase in text


def _or(left: Callable[[str], bool], right: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: left(text) or right(text)


def _and(left: Callable[[str], bool], right: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: left(text) and right(text)
