"""Saying «I can't know» instead of guessing.

A trajectory may have gaps. What was seen was seen, but nobody can say what was *not* done. So a sequence with gaps has
no end: a question that is settled by what was seen is answered, any other raises `Unknowable`, and the trial is void.
"""

from __future__ import annotations


class Unknowable(Exception):
    """The evidence is not complete enough to answer."""


class LowerBound(int):
    """A count of what was seen where more may have happened: it compares only where the answer is certain."""

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
        """`certain` where what was seen settles the question; else nobody knows."""
        if not settled:
            raise unknowable(f"whether {self!r} compares with {other!r}", self.gaps)
        return certain


def unknowable(question: str, gaps: tuple[str, ...]) -> Unknowable:
    """The exception that says why a question has no answer."""
    return Unknowable(f"can't know {question}: {'; '.join(gaps)}")


def _number(other: object) -> float:
    if not isinstance(other, int | float):
        raise TypeError(f"a count is compared with a number, not with {other!r}")
    return other
