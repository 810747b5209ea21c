"""A failing trial beside one that passed, as far as their steps are at hand."""

from __future__ import annotations

from dataclasses import dataclass

from demeanor.core.record import Record
from demeanor.core.trajectory import Event


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialSteps:
    """One trial, told by its steps."""

    run: str
    """The run it is of."""

    record: Record
    """The trial. Much of it is hostile text."""

    events: tuple[Event, ...] | None
    """What happened; None where it is not at hand. Hostile text."""

    absence: str = ""
    """Why it is not at hand, if so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialStepsPair:
    """Two trials of one eval with one subject."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    failing: TrialSteps | None
    """A trial that failed; None where the history has none of this night."""

    passing: TrialSteps | None
    """The nearest trial that passed, of this night or of one before; None where none of the shown nights has one."""
