"""The error rates and cost of a decision rule, shown next to its decisions."""

from __future__ import annotations

from dataclasses import dataclass

RATES = (0.99, 0.95, 0.9, 0.8, 0.7, 0.5)
"""The true pass rates that error rates are printed for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Operating:
    """How a rule behaves at one true pass rate."""

    rate: float
    """The true pass rate."""

    chance: float
    """The probability that the rule acts."""

    trials: float | None = None
    """The mean number of trials; None if the rule does not choose it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorRates:
    """The exact error rates of a rule."""

    rule: str
    """The rule's name."""

    action: str
    """The action that the rule takes or not: reject, promote, demote."""

    about: str
    """The rule in a sentence, with its numbers."""

    setting: str
    """The setting in which the numbers hold."""

    rows: tuple[Operating, ...]
    """One per true pass rate."""

    notes: tuple[str, ...] = ()
    """Caveats."""

    def at(self, rate: float) -> Operating:
        """The row of a true pass rate."""
        return next(row for row in self.rows if row.rate == rate)
