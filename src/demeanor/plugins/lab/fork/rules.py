"""The rule of a scan: from which step to start the next trials, and when to stop.

Place p means that the first p answers of the recorded trial are replayed, so trials at place p start at step p + 1. At
place 0 everything is open; at the last place everything is replayed, which ends as the recorded trial did: it failed,
so no trial is needed there. The chance of passing drops at some place; the step replayed last there is the decisive
one. Trials start from place 0 until it is clear that the chance was higher there, then from the place whose next trial
has the highest expected information about the drop (statistics/bisection.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.plugins.lab.bisect.report import BisectOutcome
from demeanor.plugins.lab.bisect.rules import AT_THE_ENDS, Search
from demeanor.statistics import Tries, most_telling

_DOUBTFUL = 0.2
"""If the probability that the chance does not drop is at least this, trials start from place 0 only."""

RECORDED = Tries(0, 6)
"""What the recorded trial says about the last place. There every trial fails, but the chance after the drop is shared
by all places behind it: with fewer, a drop at the last step is found late; with more, chances above 0 are not believed
(3, 6 and 10 were simulated)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scan:
    """The trials of a scan so far, and what follows from them."""

    tries: Mapping[int, Tries]
    """Place → its trials."""

    steps: int
    """The number of steps of the recorded trial, which is also the last place."""

    barred: frozenset[int] = frozenset()
    """Places from which no trial can be judged."""

    confidence: float = 0.95
    """The required probability; one minus it is the error rate of the scan."""

    search: Search = field(init=False)
    """The same as a search for the change between two versions."""

    def __post_init__(self) -> None:
        tries = {**self.tries, self.steps: RECORDED}
        search = Search(tries=tries, last=self.steps, barred=self.barred, confidence=self.confidence)
        object.__setattr__(self, "search", search)

    def outcome(self) -> BisectOutcome | None:
        """The result; None to continue."""
        if self.tries.get(0, Tries()).judged < AT_THE_ENDS and 0 not in self.barred:
            return None
        return self.search.outcome() if self.open_places else BisectOutcome.UNDECIDED

    @property
    def open_places(self) -> tuple[int, ...]:
        """The places from which trials can start."""
        return tuple(place for place in range(self.steps) if place not in self.barred)

    def next(self) -> int:
        """The place from which the next trials start."""
        belief = self.search.belief
        first = self.tries.get(0, Tries()).judged < AT_THE_ENDS or belief.none >= _DOUBTFUL
        among = (0,) if first and 0 not in self.barred else self.open_places
        return most_telling(belief, among)

    def decisive(self) -> tuple[int, int, float]:
        """The first and the last step that may be the decisive one, as places can't be told apart where no trial can be
        judged, and the probability that one of them is."""
        suspects = self.search.suspects()
        return suspects.first, suspects.last, suspects.chance
