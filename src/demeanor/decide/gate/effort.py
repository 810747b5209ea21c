"""How much a gate spends: two points of the frontier between trials, false alarms and misses.

The prices of errors are Lagrange multipliers, chosen so that the plan for an eval that passes 95 % of the time has the
wanted error rates.
"""

from __future__ import annotations

from dataclasses import dataclass

SMALL_DROP = 0.80 / 0.95
LARGE_DROP = 0.50 / 0.95
"""The drops that a plan is made for, as a share of the healthy rate: from 95 % to 80 %, and to 50 %."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Effort:
    """A point of the frontier. The prices of errors are in trials."""

    name: str
    """Its name in reports."""

    false_alarm: float
    """The price of a false alarm."""

    small_drop: float
    """The price of missing a drop from 95 % to 80 %."""

    large_drop: float
    """The price of missing a drop from 95 % to 50 %."""

    most_false_alarms: float
    """A plan whose cell would have more false alarms, by what its history says, pays more for them."""

    cap: int
    """The largest number of trials of a cell."""

    first: int
    """The smallest number of trials of an accepted cell."""


STANDARD = Effort(
    name="standard", false_alarm=41.8, small_drop=1.22, large_drop=14.99, most_false_alarms=0.05, cap=13, first=3
)
THOROUGH = Effort(
    name="thorough", false_alarm=51.29, small_drop=6.62, large_drop=71.15, most_false_alarms=0.025, cap=30, first=4
)

EFFORTS = (STANDARD, THOROUGH)
"""The default, and that of a thorough gate."""
