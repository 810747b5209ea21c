"""Load the steps of stored trials: from the run's folder, or from a capture in the capture store."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from demeanor.core.capture import Capture
from demeanor.core.errors import StoreError
from demeanor.core.history import PastRun
from demeanor.core.record import Record
from demeanor.core.trajectory import Event
from demeanor.core.tree import Tree
from demeanor.observe import observe
from demeanor.store.captures.capture_store import CaptureStore, read_capture
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


def load_steps(name: str, record: Record, run: RunFolder | None, captures: CaptureStore | None) -> TrialSteps:
    """Load the steps of a trial of the run `name` from the run's folder or from the capture store."""
    try:
        return TrialSteps(run=name, record=record, events=_events(name, record, run, captures))
    except StoreError as error:
        absence, _, _ = str(error).partition("\n")
        return TrialSteps(run=name, record=record, events=None, absence=absence)


def load_capture(night: PastRun, record: Record, results: Path, captures: CaptureStore | None) -> Capture:
    """Load a trial's capture without its starting workspace; raise StoreError when it is not available."""
    run = find_run_folder(night, results)
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


def find_run_folder(night: PastRun, results: Path) -> RunFolder | None:
    """Return a run's folder on this machine, or None."""
    if night.origin != "demeanor":
        raise StoreError(f"the run was imported from {night.origin}, and imported runs have no steps")
    places = (*((Path(night.source),) if night.source else ()), results / night.name)
    return next((RunFolder(path) for path in places if (path / RUN_FILE).is_file()), None)


def _not_here(run: str) -> StoreError:
    return StoreError(f"the folder of the run is not on this machine ({run})")
