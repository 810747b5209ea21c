"""The rule of a bisection: which commit to test next, and when to stop.

Both ends are tested first, three times each. As long as it is doubtful that they differ, only the ends are tested:
nothing else gives that answer sooner. Then the commit whose next trial has the highest expected information is tested,
until one commit reaches the required confidence; or several in a row that can't be distinguished because some of them
can't be tested. Commits are numbered from 0, the good end.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum

from demeanor.plugins.lab.bisect.report import BisectOutcome
from demeanor.statistics import Belief, Tries, believe, most_telling

AT_THE_ENDS = 3
"""Trials of each end before any other commit is tested."""

_DOUBTFUL = 0.2
"""If the probability of no difference is at least this, only the ends are tested."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspects:
    """The most likely commit; several in a row if they can't be distinguished."""

    first: int
    """The first of them."""

    last: int
    """The last of them, which can be tested."""

    chance: float
    """The probability that one of them is the change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """The state of a search: the trials so far, and what follows from them."""

    tries: Mapping[int, Tries]
    """Commit → its trials."""

    last: int
    """The bad end; the good one is 0."""

    barred: frozenset[int] = frozenset()
    """Commits that can't be tested."""

    confidence: float = 0.95
    """The required probability."""

    belief: Belief = field(init=False)
    """The probability of each commit."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "belief", believe(self.tries, self.last))

    @property
    def testable(self) -> tuple[int, ...]:
        """Commits that can be tested."""
        return tuple(commit for commit in range(self.last + 1) if commit not in self.barred)

    def suspects(self) -> Suspects:
        """The most likely commit, with those that can't be distinguished from it."""
        chances = self.belief.chances()
        rows = [(low + 1, high) for low, high in pairwise(self.testable)]
        first, last = max(rows, key=lambda row: fsum(chances[row[0] : row[1] + 1]))
        return Suspects(first=first, last=last, chance=fsum(chances[first : last + 1]))

    def credible(self) -> tuple[int, ...]:
        """The smallest set of commits that reaches the required confidence, most likely first."""
        chances = self.belief.chances()
        ranked = sorted(range(1, self.last + 1), key=lambda commit: (-chances[commit], commit))
        needed = self.confidence * fsum(chances)
        places: list[int] = []
        while ranked and fsum(chances[commit] for commit in places) < needed:
            places.append(ranked.pop(0))
        return tuple(places)

    def outcome(self) -> BisectOutcome | None:
        """The result; None to continue."""
        if any(self.tries.get(end, Tries()).judged < AT_THE_ENDS for end in (0, self.last)):
            return None
        if self.suspects().chance >= self.confidence:
            return BisectOutcome.FOUND
        return BisectOutcome.NO_DIFFERENCE if self.belief.none >= self.confidence else None

    def trials(self, commit: int, *, at_once: int = 1) -> int:
        """The number of trials to run: `at_once`, and more at an end that has too few."""
        missing = AT_THE_ENDS - self.tries.get(commit, Tries()).judged if commit in (0, self.last) else 0
        return max(at_once, missing)

    def next(self, at_hand: Collection[int] = ()) -> int:
        """The commit to test next; prefers one `at_hand`, which is already built."""
        for end in (0, self.last):
            if self.tries.get(end, Tries()).judged < AT_THE_ENDS:
                return end
        belief = self.belief
        among = (0, self.last) if belief.none >= _DOUBTFUL else self.testable
        return most_telling(belief, among, at_hand=at_hand)


def boundary(tries: Mapping[int, Tries], suspects: Suspects) -> tuple[Tries, Tries]:
    """All trials before the suspects, and all from the last suspect on."""
    before = sum((made for commit, made in tries.items() if commit < suspects.first), Tries())
    after = sum((made for commit, made in tries.items() if commit >= suspects.last), Tries())
    return before, after
