"""Load the steps of stored trials: from the run's folder, or from a capture in the capture store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from demeanor.commands.report.report import FailingCell, NightReport, NightRow
from demeanor.config.config import Config
from demeanor.core.capture import Capture
from demeanor.core.errors import StoreError
from demeanor.core.history import PastRun
from demeanor.core.ports import History
from demeanor.core.record import Record
from demeanor.core.trajectory import Event
from demeanor.core.trajectory_diff import distance
from demeanor.core.tree import Tree
from demeanor.observe import observe
from demeanor.store.captures.capture_store import CaptureStore, open_capture_store, read_capture
from demeanor.store.runs.run_folder import RUN_FILE, RunFolder


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialSteps:
    """One trial with its steps."""

    run: str
    """The name of its run."""

    record: Record
    """The trial. Much of it is hostile text."""

    events: tuple[Event, ...] | None
    """What happened; None when the steps are not available. Hostile text."""

    absence: str = ""
    """Why the steps are not available; empty when they are."""


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
    loader = _PairLoader(history, {night.name: night for night in report.nights}, results, open_capture_store(config))
    return tuple(loader.pair(one, report.row(one.eval, one.subject), report) for one in report.failures)


def load_steps(name: str, record: Record, run: RunFolder | None, captures: CaptureStore | None) -> TrialSteps:
    """Load the steps of a trial of the run `name` from the run's folder or from the capture store."""
    try:
        return TrialSteps(run=name, record=record, events=_events(name, record, run, captures))
    except StoreError as error:
        absence, _, _ = str(error).partition("\n")
        return TrialSteps(run=name, record=record, events=None, absence=absence)


def load_capture(night: PastRun, record: Record, results: Path, captures: CaptureStore | None) -> Capture:
    """Load a trial's capture without its starting workspace; raise StoreError when it is not available."""
    run = _find_folder(night, results)
    if run is None and captures is None:
        raise _not_here(night.source or night.name)
    return read_capture(record, Tree(), run=run, captures=captures)


def _events(name: str, record: Record, run: RunFolder | None, captures: CaptureStore | None) -> tuple[Event, ...]:
    if run is not None and (not record.steps or (run.folder / record.folder / "trajectory.jsonl").is_file()):
        return run.events(record)
    if run is None and captures is None:
        raise _not_here(name)
    # The steps do not depend on the starting workspace, so an empty tree will do.
    return observe(read_capture(record, Tree(), run=run, captures=captures), {}).trajectory.events


class _PairLoader:
    """Finds a failing and a passing trial for each failure of a nightly report."""

    def __init__(
        self, history: History, nights: Mapping[str, PastRun], results: Path, captures: CaptureStore | None
    ) -> None:
        self._history = history
        self._nights = nights
        self._results = results
        self._captures = captures

    def pair(self, one: FailingCell, row: NightRow, report: NightReport) -> TrialStepsPair:
        """Load a trial that failed and the most similar one that passed."""
        tonight = report.nights[-1].name
        trials = self._history.trials(tonight, name=one.eval, subject=one.subject)
        failed = next((trial for trial in trials if trial.verdict.outcome == "fail"), None)
        failing = self._load(tonight, failed) if failed else None
        passing = self._nearest_pass(failing, one, row, report)
        return TrialStepsPair(eval=one.eval, subject=one.subject, failing=failing, passing=passing)

    def _nearest_pass(
        self, failing: TrialSteps | None, one: FailingCell, row: NightRow, report: NightReport
    ) -> TrialSteps | None:
        """Return the most similar passing trial of the latest night that has one with steps, or any passing trial."""
        nights = zip(reversed(report.nights), reversed(row.cells), strict=True)
        first: TrialSteps | None = None
        for run in (night.name for night, cell in nights if cell.passed):
            trials = self._history.trials(run, name=one.eval, subject=one.subject)
            passed = [self._load(run, trial) for trial in trials if trial.verdict.outcome == "pass"]
            with_steps = [trial for trial in passed if trial.events is not None]
            if with_steps:
                events = failing.events if failing and failing.events is not None else ()
                return min(with_steps, key=lambda trial: distance(events, trial.events or ()))
            first = first or next(iter(passed), None)
        return first

    def _load(self, run: str, record: Record) -> TrialSteps:
        try:
            folder = _find_folder(self._nights[run], self._results)
        except StoreError as error:
            return TrialSteps(run=run, record=record, events=None, absence=str(error))
        return load_steps(run, record, folder, self._captures)


def _find_folder(night: PastRun, results: Path) -> RunFolder | None:
    """Return a run's folder on this machine, or None."""
    if night.origin != "demeanor":
        raise StoreError(f"the run was imported from {night.origin}, and imported runs have no steps")
    places = (*((Path(night.source),) if night.source else ()), results / night.name)
    return next((RunFolder(path) for path in places if (path / RUN_FILE).is_file()), None)


def _not_here(run: str) -> StoreError:
    return StoreError(f"the folder of the run is not on this machine ({run})")
