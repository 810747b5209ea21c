"""Answers of «unknown» instead of guesses.

A trajectory may have gaps. A recorded call is proof; a missing one is not. So a sequence with gaps is open-ended: a
question that the recorded calls decide is answered, any other raises `Unknowable`, and the trial is void.
"""

from __future__ import annotations


class Unknowable(Exception):
    """The evidence is too incomplete to answer."""


class LowerBound(int):
    """A count that may be too low: comparisons raise Unknowable unless the result is certain."""

    gaps: tuple[str, ...]

    def __new__(cls, seen: int, gaps: tuple[str, ...]) -> LowerBound:
        self = super().__new__(cls, seen)
        self.gaps = gaps
        return self

    def __repr__(self) -> str:
        return f"{int(self)} or more"

    __str__ = __repr__
    __hash__ = int.__hash__

    def __bool__(self) -> bool:
        return self >= 1

    def __ge__(self, other: object) -> bool:
        return self._at_least(other, int(self) >= _number(other), certain=True)

    def __gt__(self, other: object) -> bool:
        return self._at_least(other, int(self) > _number(other), certain=True)

    def __le__(self, other: object) -> bool:
        return self._at_least(other, int(self) > _number(other), certain=False)

    def __lt__(self, other: object) -> bool:
        return self._at_least(other, int(self) >= _number(other), certain=False)

    def __eq__(self, other: object) -> bool:
        return self._at_least(other, int(self) > _number(other), certain=False)

    def __ne__(self, other: object) -> bool:
        return self._at_least(other, int(self) > _number(other), certain=True)

    def _at_least(self, other: object, settled: bool, *, certain: bool) -> bool:
        """`certain` if the recorded calls decide the question; otherwise raises Unknowable."""
        if not settled:
            raise unknowable(f"whether {self!r} compares with {other!r}", self.gaps)
        return certain


def unknowable(question: str, gaps: tuple[str, ...]) -> Unknowable:
    """The exception that says why a question has no answer."""
    return Unknowable(f"can't know {question}: {'; '.join(gaps)}")


def _number(other: object) -> float:
    if not isinstance(other, int | float):
        raise TypeError(f"a count can only be compared with a number, not with {other!r}")
    return other
