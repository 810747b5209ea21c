"""The report of `demeanor power`, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from demeanor.core.error_rates import ErrorRates
from demeanor.decide.gate.suite import SuiteRates


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectableDrop:
    """The smallest drop that a number of trials can detect."""

    trials: int
    """The number of trials."""

    known: float | None
    """The drop, compared with a known rate; None if even a drop to 0 can't be detected."""

    history: float | None
    """The drop, compared with the history; None if even a drop to 0 can't be detected."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GatePlan:
    """A gate of many cells with one effort."""

    effort: str
    """The effort of the rule `optimal`."""

    rates: SuiteRates
    """The error rates of all cells together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PowerReport:
    """How many trials it takes to detect a drop, and the cost and error rates of each rule."""

    base: float
    """The pass rate before the drop."""

    new: float
    """The pass rate after the drop."""

    level: float
    """The accepted rate of false alarms."""

    power: float
    """The required probability of detecting the drop."""

    history: int
    """Trials of an eval in the history."""

    known: tuple[int, int] | None
    """Trials compared with a known rate, and the failures that show a drop; None if 5000 are not enough."""

    each_side: int | None
    """Trials on each side, between two samples; None if there are too many for an exact calculation."""

    each_side_about: int
    """The same by the normal approximation."""

    sequential: tuple[float, float]
    """Mean number of trials of a sequential test: without a drop, and with it."""

    visible: tuple[DetectableDrop, ...]
    """The smallest detectable drop for some numbers of trials."""

    gate: tuple[ErrorRates, ...]
    """The rules of the gate at both rates."""

    promote: tuple[ErrorRates, ...]
    """The rules of promotion, at both rates."""

    demote: tuple[ErrorRates, ...]
    """The rules of demotion, at both rates."""

    suite: tuple[int, int, float] | None = None
    """Evals, trials each, and the probability that a drop of all of them is detected; None if not requested."""

    gates: tuple[GatePlan, ...] = ()
    """How a whole gate behaves, for each effort, without and with confirmation; empty if not requested."""

    cost_usd: float | None = None
    """The cost of a trial, if given."""
