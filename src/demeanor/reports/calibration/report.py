"""The error rates of an eval's judge, as a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from demeanor.core.values.exit_code import ExitCode
from demeanor.render import ReportDocument
from demeanor.results import CorrectedRate


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorRateEstimate:
    """A measured quantity with its interval of 95 %."""

    value: float
    """The measured value."""

    low: float
    """The lower end of its interval."""

    high: float
    """The upper end."""

    trials: int
    """The number of labelled trials that it is based on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelSplit:
    """One half of the labels: how the judge's verdicts compare with them."""

    passed_good: int
    """Trials that people call good and the judge passed."""

    failed_good: int
    """Trials that people call good and the judge failed."""

    passed_bad: int
    """Trials that people call bad and the judge passed."""

    failed_bad: int
    """Trials that people call bad and the judge failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibrationReport:
    """How often the judge of an eval is wrong."""

    eval: str
    """The eval's name."""

    judge: str
    """Twelve hex digits of the judge: questions, votes, model and instructions."""

    model: str
    """The project's judge model."""

    held_out: LabelSplit
    """The labels that the error rates are measured with."""

    tuning: LabelSplit
    """The other labels, for work on the question: they are in no rate below."""

    sensitivity: ErrorRateEstimate | None
    """The share of good trials that the judge passes; None without labels."""

    specificity: ErrorRateEstimate | None
    """The share of bad trials that the judge fails; None without labels."""

    kappa: ErrorRateEstimate | None
    """Cohen's kappa: agreement with people beyond chance; None if all say the same. It depends on the base rate."""

    base_rate: float | None
    """The share of good trials among the held-out labels."""

    consistency: ErrorRateEstimate | None
    """The share of trials about which all recorded votes agree, of those with more than one vote; None without any."""

    answer: Literal["calibrated", "undecided"]
    """Whether anything can be concluded from the judge's answers."""

    reason: str
    """Why, with the numbers."""

    rates: tuple[CorrectedRate, ...] = ()
    """The eval's pass rates since each subject last changed, corrected for the judge's errors, by subject."""

    notes: tuple[str, ...] = ()
    """Labels that could not be used, and other remarks."""

    @property
    def exit_code(self) -> ExitCode:
        """Undecided if nothing can be concluded from the judge's answers."""
        return ExitCode.ACCEPTED if self.answer == "calibrated" else ExitCode.UNDECIDED


CALIBRATION_DOCUMENT = ReportDocument("calibration", CalibrationReport)
"""The JSON document of this report."""
