"""One cell under the rule `screen`: what its trials amount to, and what those to come could still change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from demeanor.statistics import beta_binomial
from demeanor.statistics.beta_binomial import Prior

SCREEN = 3
"""So many passes at the start, and the cell is fine."""

FRESH = 10
"""So many trials are judged where it is not."""

LEVEL = 0.10
"""The share of false alarms allowed among the cells that are rejected."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialSplit:
    """The trials of a cell, taken apart."""

    state: Literal["screening", "fine", "escalated"]
    """Not enough trials yet; all of the first passed; one of the first failed."""

    screened: int
    """Trials that were used up by the screen."""

    passed: int = 0
    """Fresh trials that passed, after the fail that escalated the cell."""

    judged: int = 0
    """Fresh trials in all; those beyond the tenth are not looked at."""

    @property
    def to_come(self) -> int:
        """Fresh trials that are still wanted."""
        return FRESH - self.judged if self.state == "escalated" else 0


def look(outcomes: Sequence[bool]) -> TrialSplit:
    """Take the trials of a cell apart, in the order of their numbers."""
    first = list(outcomes[:SCREEN])
    if False in first:
        screened = first.index(False) + 1
        fresh = outcomes[screened : screened + FRESH]
        return TrialSplit(state="escalated", screened=screened, passed=sum(fresh), judged=len(fresh))
    return TrialSplit(state="fine" if len(first) == SCREEN else "screening", screened=len(first))


def p_value(passed: int, belief: Prior) -> float:
    """How likely so few passes or fewer are among all fresh trials, after the cell's own past."""
    return beta_binomial.at_most(passed, FRESH, belief)


def fewest_to_settle(passed: int, judged: int, belief: Prior, *, family: int, level: float = LEVEL) -> int:
    """How many more trials could settle the cell, whatever the others of its family turn out to be."""
    to_come = FRESH - judged
    for more in range(1, to_come):
        accepted = p_value(passed + more, belief) > level  # if these pass, and all others then fail
        rejected = p_value(passed + to_come - more, belief) <= level / family  # if these fail, and all others then pass
        if accepted or rejected:
            return more
    return to_come
