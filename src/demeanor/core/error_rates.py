"""What a rule costs and how often it errs: printed with it, so that nobody takes an answer for more than it is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Operating:
    """How a rule does where the true pass rate is known."""

    rate: float
    """The true pass rate."""

    chance: float
    """How often the rule acts."""

    trials: float | None = None
    """How many trials that takes on average; None where the rule does not choose."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorRates:
    """A rule's error rates, exact."""

    rule: str
    """The rule's name."""

    action: str
    """What it does or does not do: reject, promote, demote."""

    about: str
    """The rule in a sentence, with its numbers."""

    setting: str
    """What the numbers hold for."""

    rows: tuple[Operating, ...]
    """One per true pass rate."""

    notes: tuple[str, ...] = ()
    """What else a person should know before relying on it."""

    def at(self, rate: float) -> Operating:
        """The row of a true pass rate."""
        return next(row for row in self.rows if row.rate == rate)
