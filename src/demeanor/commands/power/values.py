"""What it takes to see a drop, for `demeanor power`."""

from __future__ import annotations

from dataclasses import dataclass

from demeanor.core.error_rates import ErrorRates


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectableDrop:
    """The smallest drop that a number of trials shows."""

    trials: int
    """Trials of the change."""

    known: float | None
    """The drop, against a rate that is well known; None where not even a drop to 0 shows."""

    history: float | None
    """The drop, against a history of so many trials; None where not even a drop to 0 shows."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerReport:
    """How many trials it takes to see a drop, and what each rule costs and misses."""

    base: float
    """The pass rate as it was."""

    new: float
    """The pass rate that it drops to."""

    level: float
    """How often a drop may be seen that is none."""

    power: float
    """How often a drop must be seen that is one."""

    history: int
    """Trials of history, for what is held against it."""

    known: tuple[int, int] | None
    """Trials against a rate that is well known, and the fails that show a drop; None where 5000 are not enough."""

    each_side: int | None
    """Trials on each side, between two samples; None where there are too many to reckon exactly."""

    each_side_about: int
    """The same by the normal approximation."""

    sequential: tuple[float, float]
    """Trials of a sequential test on average: where nothing dropped, and where it did."""

    visible: tuple[DetectableDrop, ...]
    """What numbers of trials can see."""

    gate: tuple[ErrorRates, ...]
    """The rules of the gate, at both rates."""

    promote: tuple[ErrorRates, ...]
    """The rules of promotion, at both rates."""

    demote: tuple[ErrorRates, ...]
    """The rules of demotion, at both rates."""

    suite: tuple[int, int, float] | None = None
    """Evals, trials each, and how often a drop of all of them shows in the suite's mean; None where not asked."""

    cost_usd: float | None = None
    """What a trial costs, where somebody said so."""
