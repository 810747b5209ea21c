"""A failing and a passing trial for each failure of a nightly report, with their steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from demeanor.config import Config
from demeanor.core.values.history import Night, PastRun
from demeanor.core.values.ports import History
from demeanor.core.values.record import Record
from demeanor.reports.night.report import FailingCell, NightReport, NightRow
from demeanor.results import TrialSteps, distance, load_steps
from demeanor.store.captures import CaptureStore, open_capture_store
from demeanor.store.runs import place_of


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialStepsPair:
    """A failing and a passing trial of one eval with one subject."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    failing: TrialSteps | None
    """A trial that failed; None when the history has none for this night."""

    passing: TrialSteps | None
    """The most similar trial that passed, in this night or an earlier one; None when no shown night has one."""


def load_step_pairs(history: History, report: NightReport, config: Config, results: Path) -> tuple[TrialStepsPair, ...]:
    """Load, for each failure in the report, a failing trial and the most similar trial that passed."""
    loader = _PairLoader(
        history, {run.name: run for night in report.nights for run in night.runs}, results, open_capture_store(config)
    )
    return tuple(loader.pair(failure, report.row(failure.eval, failure.subject), report) for failure in report.failures)


class _PairLoader:
    """Finds a failing and a passing trial for each failure of a nightly report."""

    def __init__(
        self, history: History, nights: Mapping[str, PastRun], results: Path, captures: CaptureStore | None
    ) -> None:
        self._history = history
        self._nights = nights
        self._results = results
        self._captures = captures

    def pair(self, cell: FailingCell, row: NightRow, report: NightReport) -> TrialStepsPair:
        """Load a trial that failed and the most similar one that passed."""
        trials = self._trials(report.nights[-1], cell)
        failing = next((self._load(run, trial) for run, trial in trials if trial.verdict.outcome == "fail"), None)
        passing = self._nearest_pass(failing, cell, row, report)
        return TrialStepsPair(eval=cell.eval, subject=cell.subject, failing=failing, passing=passing)

    def _nearest_pass(
        self, failing: TrialSteps | None, cell: FailingCell, row: NightRow, report: NightReport
    ) -> TrialSteps | None:
        """Return the most similar passing trial of the latest night that has one with steps, or any passing trial."""
        nights = zip(reversed(report.nights), reversed(row.cells), strict=True)
        first: TrialSteps | None = None
        for night in (night for night, cell in nights if cell.passed):
            trials = self._trials(night, cell)
            passed = [self._load(run, trial) for run, trial in trials if trial.verdict.outcome == "pass"]
            with_steps = [trial for trial in passed if trial.events is not None]
            if with_steps:
                events = failing.events if failing and failing.events is not None else ()
                return min(with_steps, key=lambda trial: distance(events, trial.events or ()))
            first = first or next(iter(passed), None)
        return first

    def _trials(self, night: Night, cell: FailingCell) -> Iterator[tuple[str, Record]]:
        """The trials of a cell in each run of a night."""
        for run in night.names:
            for trial in self._history.trials(run, name=cell.eval, subject=cell.subject):
                yield run, trial

    def _load(self, run: str, record: Record) -> TrialSteps:
        return load_steps(place_of(self._nights[run], self._results), record, self._captures)
