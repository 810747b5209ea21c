"""Adaptive group testing: which of many parts change a result when they are removed, alone or only together?

Removing many parts at once costs as much as removing one, and most parts change nothing. So all of them are removed
first, and only groups whose removal is noticed are split. If neither half of a noticed group is noticed, parts of both
halves stand in for each other: the search then looks for the smallest set that must be removed together.

Assumed: what a removal breaks, a larger removal breaks too. So a group that is not noticed clears all of its parts. The
search asks about exactly the set that it reports, and asks more strictly before it reports it, so a false alarm of a
group costs trials but is not reported.

A search is a generator: it yields questions, and is sent their answers.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from demeanor.statistics.rate_change import RateDirection

Parts: TypeAlias = tuple[str, ...]

MOST_TOGETHER = 4
"""The largest set that is searched for. An effect that needs more parts is not traced to them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """What is the result without these parts?"""

    removed: frozenset[str]
    """The parts to remove; none for the control."""

    strict: bool = False
    """Whether errors must be rarer, because the answer is reported or contradicts another one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Noticed:
    """A set of parts whose removal changes the result, and none of which does so alone if there are several."""

    parts: Parts
    """The parts, in order."""

    change: RateDirection
    """Whether the rate falls or rises without them."""


@dataclass(kw_only=True, slots=True)
class Found:
    """The results of a search so far."""

    noticed: list[Noticed] = field(default_factory=list)
    """The sets that were found."""

    diffuse: list[Noticed] = field(default_factory=list)
    """Larger sets that are noticed, of which no small part is."""

    cleared: set[str] = field(default_factory=set)
    """Parts that, removed alone, change nothing."""

    unsteady: RateDirection | None = None
    """How the result differs from its baseline with nothing removed, which ended the search; None if it does not."""

    done: bool = False
    """Whether the search has ended."""


T = TypeVar("T")
Asked: TypeAlias = Generator[Question, RateDirection, T]
"""Asks questions, and returns a value."""


def search(parts: Parts, result: Found) -> Asked[None]:
    """Find the sets of parts that are noticed; the results are in `result`, also while the search goes on."""
    rest = parts
    while rest:
        change = yield Question(removed=frozenset(rest))
        if change == "same":
            result.cleared.update(rest)
            break
        if (control := (yield Question(removed=frozenset(), strict=True))) != "same":
            result.unsteady = control
            return
        asking = _Asking(change, result)
        noticed = yield from asking.find(rest)
        if asking.proven(noticed):
            where = result.noticed if len(noticed) <= MOST_TOGETHER else result.diffuse
            where.append(Noticed(parts=noticed, change=change))
        rest = tuple(part for part in rest if part not in noticed)
    result.done = True


def halves(parts: Parts) -> tuple[Parts, Parts]:
    """The first and the second half; the first is larger by one if the number is odd."""
    middle = (len(parts) + 1) // 2
    return parts[:middle], parts[middle:]


class _Asking:
    """The questions of a search for one kind of change."""

    def __init__(self, change: RateDirection, result: Found) -> None:
        self._change = change
        self._found = result
        self._proven: set[frozenset[str]] = set()

    def proven(self, parts: Parts) -> bool:
        """Whether exactly this set was asked about strictly, and noticed."""
        return frozenset(parts) in self._proven

    def notices(self, parts: Parts, *, strict: bool = False) -> Asked[bool]:
        """Whether the removal of all parts is noticed."""
        answer = yield Question(removed=frozenset(parts), strict=strict)
        if answer == "same":
            self._found.cleared.update(parts)
        if strict and answer == self._change:
            self._proven.add(frozenset(parts))
        return answer == self._change

    def find(self, parts: Parts) -> Asked[Parts]:
        """The smallest set within a group that was noticed; unproven if the group was a false alarm."""
        if len(parts) > 1:
            if (half := (yield from self._half((), parts))) is not None:
                return (yield from self.find(half))
            if not (yield from self.notices(parts, strict=True)):
                return parts
            if (half := (yield from self._half((), parts, strict=True))) is not None:
                return (yield from self.find(half))
            parts = yield from self._together(parts)
        yield from self.notices(parts, strict=True)
        return parts

    def _half(self, without: Parts, parts: Parts, *, strict: bool = False) -> Asked[Parts | None]:
        """The half that is noticed if `without` is removed too; None if neither is."""
        for half in halves(parts):
            if (yield from self.notices((*without, *half), strict=strict)):
                return half
        return None

    def _together(self, parts: Parts) -> Asked[Parts]:
        """The smallest set of parts that are noticed only together; a single one if it is noticed after all."""
        first, second = halves(parts)
        right = yield from self._shrink(first, second, MOST_TOGETHER - 1)
        left = yield from self._shrink(right, first, MOST_TOGETHER - len(right))
        both = (*left, *right)
        for part in both if len(both) <= MOST_TOGETHER else ():
            if (yield from self.notices((part,), strict=True)):
                return (part,)
        return both

    def _shrink(self, without: Parts, parts: Parts, pieces: int) -> Asked[Parts]:
        """The smallest part of `parts` that is noticed if `without` is removed too."""
        if len(parts) == 1:
            return parts
        for strict in (False, True):
            if (half := (yield from self._half(without, parts, strict=strict))) is not None:
                return (yield from self._shrink(without, half, pieces))
        if pieces <= 1:
            return parts
        first, second = halves(parts)
        right = yield from self._shrink((*without, *first), second, pieces - 1)
        left = yield from self._shrink((*without, *right), first, pieces - len(right))
        return (*left, *right)


def path_length(parts: Sequence[str]) -> int:
    """How many answers about one part the search depends on, at most: from all parts to one, and the last one again."""
    return max(1, len(parts) - 1).bit_length() + 2
