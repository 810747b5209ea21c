"""How much a gate spends: three points of the frontier between trials, false alarms and misses.

The prices of errors are Lagrange multipliers, chosen so that the plan for an eval that passes 95 % of the time has the
wanted error rates. docs/decide.md says what each of them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from demeanor.core.errors import UnknownName

SMALL_DROP = 0.80 / 0.95
LARGE_DROP = 0.50 / 0.95
"""The drops that a plan is made for, as a share of the healthy rate: from 95 % to 80 %, and to 50 %."""

SHARED = 6.0
"""How many times more likely a drop is, once another subject of the same eval was rejected."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Effort:
    """A point of the frontier. The prices of errors are in trials."""

    name: str
    """Its name in the configuration."""

    false_alarm: float
    """The price of a false alarm."""

    small_drop: float
    """The price of missing a drop from 95 % to 80 %."""

    large_drop: float
    """The price of missing a drop from 95 % to 50 %."""

    cap: int
    """The largest number of trials of a cell."""

    first: int
    """The smallest number of trials of an accepted cell."""


LEAN = Effort(name="lean", false_alarm=32.4, small_drop=2.56, large_drop=6.67, cap=13, first=2)
STANDARD = Effort(name="standard", false_alarm=41.8, small_drop=1.22, large_drop=14.99, cap=13, first=3)
THOROUGH = Effort(name="thorough", false_alarm=51.29, small_drop=6.62, large_drop=71.15, cap=30, first=4)

EFFORTS: Mapping[str, Effort] = {one.name: one for one in (LEAN, STANDARD, THOROUGH)}
"""The efforts by name, the cheapest first."""

SECOND_LOOK = Effort(
    name="second look",
    false_alarm=THOROUGH.false_alarm,
    small_drop=THOROUGH.small_drop * SHARED,
    large_drop=THOROUGH.large_drop * SHARED,
    cap=THOROUGH.cap,
    first=1,
)
"""For an accepted cell whose eval was rejected with another subject."""


def effort_named(name: str) -> Effort:
    """The effort of this name."""
    if name not in EFFORTS:
        raise UnknownName("effort", name, EFFORTS)
    return EFFORTS[name]
