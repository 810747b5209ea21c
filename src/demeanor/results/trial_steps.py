"""Load the steps of stored trials: from the run's folder, or from a capture in the capture store."""

from __future__ import annotations

from dataclasses import dataclass

from demeanor.core.trees.tree import Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import StoreError
from demeanor.core.values.record import Record
from demeanor.core.values.trajectory import Event
from demeanor.core.values.user import UserTurn
from demeanor.store.captures import CaptureStore, read_capture
from demeanor.store.runs import RunPlace


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialSteps:
    """One trial with its steps."""

    run: str
    """The name of its run."""

    record: Record
    """The trial. Much of it is hostile text."""

    events: tuple[Event, ...] | None
    """What happened; None when the steps are not available. Hostile text."""

    replies: tuple[UserTurn, ...] = ()
    """What the user replied, where that was loaded (`user_replies`). Hostile text."""

    absence: str = ""
    """Why the steps are not available; empty when they are."""


def load_steps(place: RunPlace, record: Record, captures: CaptureStore | None) -> TrialSteps:
    """Load the steps of a trial from its run's folder or from the capture store."""
    try:
        return TrialSteps(run=place.name, record=record, events=read_steps(place, record, captures))
    except StoreError as error:
        absence, _, _ = str(error).partition("\n")
        return TrialSteps(run=place.name, record=record, events=None, absence=absence)


def read_steps(place: RunPlace, record: Record, captures: CaptureStore | None) -> tuple[Event, ...]:
    """The steps of a trial; raise StoreError when they are not available."""
    run = place.folder
    if run is not None and (not record.steps or (run.folder / record.folder / "trajectory.jsonl").is_file()):
        return run.events(record)
    capture = load_capture(place, record, captures)
    from demeanor.observe import observe  # not needed where the steps are files, as in the runs of this machine

    return observe(capture, {}).trajectory.events


def user_replies(place: RunPlace, record: Record, captures: CaptureStore | None) -> tuple[UserTurn, ...]:
    """What the user replied after turns of the agent; nothing if that is not available."""
    try:
        turns = load_capture(place, record, captures).user
    except StoreError:
        return ()
    return tuple(turn for turn in turns if turn.kind == "reply" and turn.said is not None)


def load_capture(place: RunPlace, record: Record, captures: CaptureStore | None) -> Capture:
    """Load a trial's capture without its starting workspace, on which its steps do not depend; raise StoreError when
    it is not available."""
    if place.origin != "demeanor":
        raise StoreError(f"{place.name} was imported from {place.origin}, and imported runs have no steps")
    return read_capture(record, Tree(), run=place.folder, captures=captures, home=place.source)
