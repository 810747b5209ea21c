"""How the rule `sprt` ends, exactly, for an eval with several subjects.

Each subject is tested on its own, but the eval is promoted only in a night in which all of them are proven good, and a
proven subject is tested again until then. So the subjects are followed night by night, and combined for each night.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, prod
from typing import TypeAlias

from demeanor.statistics import table

_NEGLIGIBLE = 1e-15

_State: TypeAlias = tuple[bool, int, int]
"""Whether the subject was proven good, and the passes and fails of the current test."""

Step: TypeAlias = Callable[[bool, int, int], "_State | None"]
"""The state after a night; None if the subject is refused."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectNight:
    """The probabilities of one subject after one night."""

    alive: float
    """It is not refused."""

    proven: float
    """It is not refused, and was proven good."""

    before: float
    """It is not refused, and was proven good before this night."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How an eval ends."""

    promoted: float
    """The probability that it is promoted; otherwise it is refused."""

    nights: float
    """The mean number of nights until then."""


def ending(subjects: Sequence[Sequence[SubjectNight]]) -> Ending:
    """How an eval ends whose subjects have these nights."""
    promoted, nights = 0.0, 1.0
    for night in zip(*subjects, strict=True):
        all_proven = prod(subject_night.proven for subject_night in night)
        promoted += all_proven - prod(subject_night.before for subject_night in night)
        nights += prod(subject_night.alive for subject_night in night) - all_proven
    return Ending(promoted=promoted, nights=nights)


@lru_cache(maxsize=64)
def subject_nights(step: Step, rate: float, *, trials: int, nights: int) -> tuple[SubjectNight, ...]:
    """A subject with this true rate, night by night."""
    outcomes = list(enumerate(table(trials, rate)))
    states: dict[_State, float] = {(False, 0, 0): 1.0}
    by_night = []
    for _ in range(nights):
        after: dict[_State, float] = {}
        before = 0.0
        for (proven, passed, failed), chance in states.items():
            for good, share in outcomes:
                state = step(proven, passed + good, failed + trials - good)
                if state is not None and chance * share > _NEGLIGIBLE:
                    after[state] = after.get(state, 0.0) + chance * share
                    before += chance * share if proven else 0.0
        states = after
        proven_now = fsum(chance for (proven, _, _), chance in states.items() if proven)
        by_night.append(SubjectNight(alive=fsum(states.values()), proven=proven_now, before=before))
    return tuple(by_night)
