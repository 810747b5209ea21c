"""The error rates of a judge for the terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from demeanor.core.values.tally import Estimate
from demeanor.render import UNKNOWN, Screen, paint, percent, rate, wrapped
from demeanor.reports.calibration.report import CalibrationReport, ErrorRateEstimate, LabelSplit


def calibration_terminal(report: CalibrationReport, screen: Screen | None = None) -> str:
    """The report as text for `screen`."""
    screen = screen or Screen()
    return paint((line for text in _lines(report) for line in wrapped(text, screen.width)), screen)


def _lines(report: CalibrationReport) -> Iterator[Text]:
    head = "Calibrated" if report.answer == "calibrated" else "Undecided"
    yield Text.assemble((f"{head}: the judge of {report.eval}", "bold"), f" ({report.model}, {report.judge})")
    yield Text(report.reason)
    yield Text("")
    yield Text(f"sensitivity   {_shown(report.sensitivity)}  good trials that it passes")
    yield Text(f"specificity   {_shown(report.specificity)}  bad trials that it fails")
    base = "" if report.base_rate is None else f" at a base rate of {percent(report.base_rate)} good trials"
    kappa = report.kappa
    number = UNKNOWN if kappa is None else f"{kappa.value:.2f} [{kappa.low:.2f}–{kappa.high:.2f}]"
    yield Text(f"kappa         {number}  agreement with people beyond chance{base}")
    yield Text(f"consistency   {_shown(report.consistency)}  trials on which all votes agree")
    held, tuning = _total(report.held_out), _total(report.tuning)
    yield Text(f"labels        {held} held out, used above; {tuning} for work on the question")
    for rating in report.rates:
        corrected = rate(Estimate(value=rating.rate, low=rating.low, high=rating.high))
        yield Text(
            f"{rating.subject}: {corrected} of trials are good; the judge passed {rating.passed} of {rating.judged}"
        )
    for note in report.notes:
        yield Text(f"note: {note}")


def _total(split: LabelSplit) -> int:
    return split.passed_good + split.failed_good + split.passed_bad + split.failed_bad


def _shown(estimate: ErrorRateEstimate | None) -> str:
    if estimate is None:
        return UNKNOWN
    return f"{rate(Estimate(value=estimate.value, low=estimate.low, high=estimate.high))} of {estimate.trials}"
