"""Trials told by their steps: from a run's folder, or from its capture wherever that was published."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from demeanor.commands.report.report import FailingCell, NightReport, NightRow
from demeanor.commands.trace.trial_steps import TrialSteps, TrialStepsPair
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


def story_pairs(history: History, report: NightReport, config: Config, results: Path) -> tuple[TrialStepsPair, ...]:
    """For each failure that the report tells of: a failing trial, and the nearest that passed."""
    teller = _Teller(history, {night.name: night for night in report.nights}, results, open_capture_store(config))
    return tuple(teller.pair(one, report.row(one.eval, one.subject), report) for one in report.failures)


def story_of(name: str, record: Record, run: RunFolder | None, vault: CaptureStore | None) -> TrialSteps:
    """A trial of the run `name`, told by its steps as far as they are at hand: in its folder, or in the vault."""
    try:
        return TrialSteps(run=name, record=record, events=_events(name, record, run, vault))
    except StoreError as error:
        absence, _, _ = str(error).partition("\n")
        return TrialSteps(run=name, record=record, events=None, absence=absence)


def _events(name: str, record: Record, run: RunFolder | None, vault: CaptureStore | None) -> tuple[Event, ...]:
    if run is not None and (not record.steps or (run.folder / record.folder / "trajectory.jsonl").is_file()):
        return run.events(record)
    if run is None and vault is None:
        raise StoreError(f"the folder of the run is not on this machine ({name})")
    # The workspace as it was before is not needed to tell what happened.
    return observe(read_capture(record, Tree(), run=run, captures=vault), {}).trajectory.events


class _Teller:
    """Finds trials and reads their steps."""

    def __init__(
        self, history: History, nights: Mapping[str, PastRun], results: Path, vault: CaptureStore | None
    ) -> None:
        self._history = history
        self._nights = nights
        self._results = results
        self._vault = vault

    def pair(self, one: FailingCell, row: NightRow, report: NightReport) -> TrialStepsPair:
        """A trial that failed, and one that passed."""
        tonight = report.nights[-1].name
        trials = self._history.trials(tonight, name=one.eval, subject=one.subject)
        failed = next((trial for trial in trials if trial.verdict.outcome == "fail"), None)
        failing = self._story(tonight, failed) if failed else None
        passing = self._nearest(failing, one, row, report)
        return TrialStepsPair(eval=one.eval, subject=one.subject, failing=failing, passing=passing)

    def _nearest(
        self, failing: TrialSteps | None, one: FailingCell, row: NightRow, report: NightReport
    ) -> TrialSteps | None:
        """Of the last night that has any: the one that went the most similar way, of those whose steps are at hand."""
        nights = zip(reversed(report.nights), reversed(row.cells), strict=True)
        first: TrialSteps | None = None
        for run in (night.name for night, cell in nights if cell.passed):
            trials = self._history.trials(run, name=one.eval, subject=one.subject)
            stories = [self._story(run, trial) for trial in trials if trial.verdict.outcome == "pass"]
            told = [story for story in stories if story.events is not None]
            if told:
                events = failing.events if failing and failing.events is not None else ()
                return min(told, key=lambda story: distance(events, story.events or ()))
            first = first or next(iter(stories), None)
        return first

    def _story(self, run: str, record: Record) -> TrialSteps:
        try:
            folder = _folder(self._nights[run], self._results)
        except StoreError as error:
            return TrialSteps(run=run, record=record, events=None, absence=str(error))
        return story_of(run, record, folder, self._vault)


def kept_capture(night: PastRun, record: Record, results: Path, vault: CaptureStore | None) -> Capture:
    """A trial's capture, without the workspace as it was before; raises StoreError where it is not at hand."""
    run = _folder(night, results)
    if run is None and vault is None:
        raise StoreError(f"the folder of the run is not on this machine ({night.source or night.name})")
    return read_capture(record, Tree(), run=run, captures=vault)


def _folder(night: PastRun, results: Path) -> RunFolder | None:
    """Where a run is kept on this machine, if it is."""
    if night.origin != "demeanor":
        raise StoreError(f"the run was imported from {night.origin}, which keeps no steps here")
    places = (*((Path(night.source),) if night.source else ()), results / night.name)
    return next((RunFolder(path) for path in places if (path / RUN_FILE).is_file()), None)
