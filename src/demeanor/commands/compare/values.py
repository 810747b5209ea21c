"""Two sets of cells held against each other."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

Counts = tuple[int, int]
"""Passed, judged."""


class CompareOutcome(StrEnum):
    """What a comparison says of one eval."""

    REGRESSED = "regressed"
    """It passes less often, and chance is no good explanation."""

    IMPROVED = "improved"
    """It passes more often, and chance is no good explanation."""

    NO_EVIDENCE = "no evidence"
    """A drop worth knowing of would probably have been seen."""

    UNDERPOWERED = "underpowered"
    """Even a drop worth knowing of would probably not have been seen: too few trials."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalComparison:
    """One eval (with one subject) before and after."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject; `a → b` where two subjects are compared."""

    outcome: CompareOutcome
    """What can be said."""

    base: Counts
    """Passed and judged of the base."""

    new: Counts
    """Passed and judged of the new."""

    p_value: float
    """How easily chance alone explains the difference in the direction seen (Boschloo, one-sided)."""

    adjusted: float
    """The same, raised for the number of evals compared (Benjamini and Hochberg)."""

    detectable_drop: float | None
    """The smallest drop that so many trials see four times out of five; None where not even a drop to 0."""

    notes: tuple[str, ...] = ()
    """What a person should know: fingerprints mixed within one side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shift:
    """The mean difference between base and new, each eval weighing the same."""

    base: float
    """The mean of the base."""

    new: float
    """The mean of the new."""

    value: float
    """New minus base."""

    low: float | None
    """The lower end of its interval; None where there are fewer than two evals."""

    high: float | None
    """The upper end of its interval; None where there are fewer than two evals."""

    evals: int
    """How many evals were compared."""

    level: float = 0.95
    """How often such an interval holds the truth."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Everything that two sets of cells say about each other."""

    evals: tuple[EvalComparison, ...]
    """One per eval and subject, regressions first."""

    suite: Shift | None
    """The difference of the suite's mean pass rate; None where nothing can be compared."""

    cost_usd: Shift | None
    """Money per judged trial; None where it is not known on both sides of any eval."""

    tokens: Shift | None
    """Tokens per judged trial."""

    turns: Shift | None
    """Model answers per judged trial."""

    seconds: Shift | None
    """Seconds of the agent's work per judged trial."""

    incomparable: tuple[tuple[str, str], ...] = ()
    """Evals that were left out, each with the reason."""

    level: float = 0.1
    """The share of false alarms allowed among what is called regressed or improved."""
