"""What a bisection does next: the rule that chooses a version to try, and knows when it is sure enough.

The ends are tried first, three times each, since everything rests on them. While it is doubtful that they differ at
all they are tried on: nothing tells that sooner. Then the version whose next trial tells most is tried, until one
version, or a row of versions which can't be told apart because some can't be tried, is as likely as was asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from demeanor.commands.bisect.values import BisectOutcome
from demeanor.statistics.bisection import Belief, Tries, believe, most_telling

AT_THE_ENDS = 3
"""Trials of each end before anything else is tried."""

_DOUBTFUL = 0.2
"""From this chance of no difference on, only the ends are tried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Suspects:
    """Versions of which one is the change, as likely as `chance` says; more than one where nothing tells them apart."""

    first: int
    """The first of them."""

    last: int
    """The last of them, which can be tried."""

    chance: float
    """How likely it is that one of them is the change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Search:
    """A bisection at a moment: what was tried, and what follows."""

    tries: Mapping[int, Tries]
    """The trials of each version."""

    last: int
    """The bad end; the good one is 0."""

    barred: frozenset[int] = frozenset()
    """Versions that can't be tried."""

    confidence: float = 0.95
    """How likely a version must be to be named."""

    belief: Belief = field(init=False)
    """Where the change lies, as far as is known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "belief", believe(self.tries, self.last))

    @property
    def testable(self) -> tuple[int, ...]:
        """Versions that can be tried."""
        return tuple(version for version in range(self.last + 1) if version not in self.barred)

    def suspects(self) -> Suspects:
        """The most likely version, with those that can't be told from it."""
        chances = self.belief.chances()
        rows = [(low + 1, high) for low, high in pairwise(self.testable)]
        first, last = max(rows, key=lambda row: sum(chances[row[0] : row[1] + 1]))
        return Suspects(first=first, last=last, chance=sum(chances[first : last + 1]))

    def credible(self) -> tuple[int, ...]:
        """The fewest versions that together are as likely as was asked for, the likeliest first."""
        chances = self.belief.chances()
        ranked = sorted(range(1, self.last + 1), key=lambda version: (-chances[version], version))
        needed = self.confidence * sum(chances)
        found: list[int] = []
        while ranked and sum(chances[version] for version in found) < needed:
            found.append(ranked.pop(0))
        return tuple(found)

    def outcome(self) -> BisectOutcome | None:
        """What was found; None to go on."""
        if any(self.tries.get(end, Tries()).judged < AT_THE_ENDS for end in (0, self.last)):
            return None
        if self.suspects().chance >= self.confidence:
            return BisectOutcome.FOUND
        return BisectOutcome.NO_DIFFERENCE if self.belief.none >= self.confidence else None

    def trials(self, version: int, *, at_once: int = 1) -> int:
        """How many trials to make of it: at an end, all that are made there before anything else."""
        missing = AT_THE_ENDS - self.tries.get(version, Tries()).judged if version in (0, self.last) else 0
        return max(at_once, missing)

    def next(self, at_hand: Collection[int] = ()) -> int:
        """The version to try next; one `at_hand` costs no build."""
        for end in (0, self.last):
            if self.tries.get(end, Tries()).judged < AT_THE_ENDS:
                return end
        belief = self.belief
        among = (0, self.last) if belief.none >= _DOUBTFUL else self.testable
        return most_telling(belief, among, at_hand=at_hand)


def boundary(tries: Mapping[int, Tries], suspects: Suspects) -> tuple[Tries, Tries]:
    """All trials before the suspects, and all from the last of them on."""
    before = sum((made for version, made in tries.items() if version < suspects.first), Tries())
    after = sum((made for version, made in tries.items() if version >= suspects.last), Tries())
    return before, after
