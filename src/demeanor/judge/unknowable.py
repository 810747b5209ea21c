"""Answers of «unknown» instead of guesses.

A trajectory may have gaps, and a recorded call may do more than can be read from it. A recorded effect is proof; a
missing one is not. So a sequence may have more members than are certain: a question that the certain members decide is
answered, any other raises `Unknowable`, and the trial is void.
"""

from __future__ import annotations


class Unknowable(Exception):
    """The evidence is too incomplete to answer."""


class MissingFile(AssertionError):
    """A file is missing or can't be read, by the agent's doing."""


class UncertainCount(int):
    """A count that may be too low: comparisons raise Unknowable unless the result is certain."""

    reasons: tuple[str, ...]
    most: int | None

    def __new__(cls, seen: int, reasons: tuple[str, ...], *, most: int | None = None) -> UncertainCount:
        """At least `seen`, at most `most`; without `most`, there is no upper limit."""
        self = super().__new__(cls, seen)
        self.reasons = reasons
        self.most = most
        return self

    def __repr__(self) -> str:
        return f"{int(self)} or more" if self.most is None else f"{int(self)} to {self.most}"

    __str__ = __repr__
    __hash__ = int.__hash__

    def __bool__(self) -> bool:
        return self >= 1

    def __ge__(self, other: object) -> bool:
        limit = _number(other)
        return self._decided(other, yes=int(self) >= limit, no=self.most is not None and self.most < limit)

    def __gt__(self, other: object) -> bool:
        limit = _number(other)
        return self._decided(other, yes=int(self) > limit, no=self.most is not None and self.most <= limit)

    def __le__(self, other: object) -> bool:
        return not self > other

    def __lt__(self, other: object) -> bool:
        return not self >= other

    def __eq__(self, other: object) -> bool:
        number = _number(other)
        outside = int(self) > number or (self.most is not None and self.most < number)
        return self._decided(other, yes=False, no=outside)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _decided(self, other: object, *, yes: bool, no: bool) -> bool:
        """The answer if what was seen decides the question; otherwise raises Unknowable."""
        if not yes and not no:
            raise unknowable(f"whether {self!r} compares with {other!r}", self.reasons)
        return yes


def unknowable(question: str, gaps: tuple[str, ...]) -> Unknowable:
    """The exception that says why a question has no answer."""
    return Unknowable(f"can't know {question}: {'; '.join(gaps)}")


def insufficient(question: str, gaps: tuple[str, ...], at_start: tuple[str, ...] = ()) -> Exception:
    """The exception for a workspace that does not answer a question: the agent's failure if all `gaps` are its own.

    `at_start` are the gaps that the workspace began with, which are not the agent's doing.
    """
    own = tuple(gap for gap in gaps if gap not in at_start)
    if own and not at_start:
        return MissingFile(f"can't tell {question}, because of what the agent left: {'; '.join(own)}")
    return unknowable(question, at_start + own)


def _number(other: object) -> float:
    if not isinstance(other, int | float):
        raise TypeError(f"a count can only be compared with a number, not with {other!r}")
    return other
