"""How long a rule waits until it acts on a steady eval: exact, night by night, for one subject."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import fsum
from typing import TypeVar

from demeanor.statistics import table

_NIGHTS = 80
"""Nights that are followed one by one; later ones are like the last of these."""

_TAIL = 20
"""The last nights that are followed, from which the later ones are calculated."""

_NEGLIGIBLE = 1e-9

State = TypeVar("State")


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingTime:
    """When a rule acts."""

    by_night: tuple[float, ...]
    """The probability that it acts in the first, second … night."""

    later: float
    """The probability that it acts in a later night."""

    @property
    def mean(self) -> float:
        """The mean number of nights until it acts; infinite if it hardly ever does."""
        nights = fsum(number * chance for number, chance in enumerate(self.by_night, 1))
        acted = fsum(self.by_night[-_TAIL:])
        if not acted or not self.later:
            return nights if not self.later else float("inf")
        waiting = [self.later + fsum(self.by_night[-number:]) for number in range(1, _TAIL + 1)]
        return nights + self.later * (len(self.by_night) + fsum(waiting) / acted)

    def within(self, nights: int) -> float:
        """The probability that it acts within some nights."""
        return min(1.0, fsum(self.by_night[:nights]))


def waiting_time(
    start: State,
    after: Callable[[State, int, int], State],
    acts: Callable[[State], bool],
    rate: float,
    *,
    trials: int,
) -> WaitingTime:
    """The nights until a rule acts, from its state before the first night, its state after a night with some passed and
    failed trials, and whether it acts then."""
    outcomes = [(passed, chance) for passed, chance in enumerate(table(trials, rate)) if chance > _NEGLIGIBLE]
    states = {start: 1.0}
    by_night: list[float] = []
    while len(by_night) < _NIGHTS and states:
        following: dict[State, float] = {}
        acted = []
        for state, here in states.items():
            for passed, chance in outcomes:
                reached = after(state, passed, trials - passed)
                if acts(reached):
                    acted.append(here * chance)
                elif here * chance > _NEGLIGIBLE:
                    following[reached] = following.get(reached, 0.0) + here * chance
        by_night.append(fsum(acted))
        states = following
    return WaitingTime(by_night=tuple(by_night), later=fsum(states.values()))
