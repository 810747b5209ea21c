"""Where a failing trial and a passing one diverge, and what each of them did there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from demeanor.core.text.wording import one_line
from demeanor.core.values.record import Record
from demeanor.core.values.trajectory import Called, Event, Faulted, ModelFailed, Said, Steered
from demeanor.reports.trial.render import describe_step
from demeanor.results import Pair, TrialSteps, align, distance, first_divergence

_WIDTH = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """The first step at which a failing trial differs from a passing one."""

    step: int
    """The number of the step: 1, 2, 3 …"""

    did: str
    """What the failing trial did there. Hostile text."""

    instead: str
    """What the passing trial did there. Hostile text."""

    passing: Record
    """The passing trial."""

    run: str
    """The run of the passing trial."""


def nearest_pass(trial: TrialSteps, passed: Sequence[TrialSteps]) -> TrialSteps | None:
    """Return the passing trial with the most similar steps, preferably of the same subject; None if none has steps."""
    with_steps = [one for one in passed if one.events is not None]
    candidates = [one for one in with_steps if one.record.subject == trial.record.subject] or with_steps
    events = trial.events or ()
    return min(candidates, key=lambda one: (distance(events, one.events or ()), sort_key(one)), default=None)


def sort_key(trial: TrialSteps) -> tuple[str, str, int, str]:
    """The key that puts trials into a stable order."""
    return trial.record.eval, trial.record.subject, trial.record.number, trial.run


def find_divergence(trial: TrialSteps, passing: TrialSteps | None) -> tuple[str, Divergence | None]:
    """Return a title for what a trial did differently from a passing one, and where; None if the steps are the same."""
    if passing is None or trial.events is None or passing.events is None:
        return "", None
    pairs = align(trial.events, passing.events)
    at = first_divergence(pairs)
    if at is None:
        return "", None
    divergence = Divergence(
        step=at + 1,
        did=_next_step(pairs, at, "left"),
        instead=_next_step(pairs, at, "right"),
        passing=passing.record,
        run=passing.run,
    )
    return _title(pairs, at), divergence


def _next_step(pairs: Sequence[Pair], at: int, side: Literal["left", "right"]) -> str:
    """Describe the step of one side at a position, or its next step after it."""
    for pair in pairs[at:]:
        event = getattr(pair, side)
        if event is not None:
            return one_line(describe_step(event), width=400)
    return "nothing more"


def _title(pairs: Sequence[Pair], at: int) -> str:
    """Describe the difference in words that fit every trial of a group."""
    failing, passing = pairs[at].left, pairs[at].right
    if isinstance(passing, Called) and all(isinstance(pair.left, Said | None) for pair in pairs):
        return f"calls no tool where passing trials {_plural(passing)}"
    if passing is None:
        return f"{_third_person(failing)}, but passing trials do not"
    if failing is None and all(pair.left is None for pair in pairs[at:]):
        return f"stops where passing trials {_plural(passing)}"
    if failing is None:
        return f"does not {_plural(passing)}, but passing trials do"
    if isinstance(failing, Called) and isinstance(passing, Called) and failing.tool == passing.tool:
        arguments = _differing_arguments(failing, passing)
        return f"calls {_short(failing.tool)} with other arguments{arguments} than passing trials"
    return f"{_third_person(failing)} where passing trials {_plural(passing)}"


def _differing_arguments(failing: Called, passing: Called) -> str:
    left, right = failing.arguments, passing.arguments
    names = sorted(
        name for name in {*left, *right} if (name in left, left.get(name)) != (name in right, right.get(name))
    )
    return f" ({', '.join(map(_short, names[:5]))})" if names else ""


def _third_person(event: Event | None) -> str:
    match event:
        case Called():
            return f"calls {_short(event.tool)}"
        case Said():
            return "writes a message"
        case ModelFailed():
            return f"gets a model error ({_short(event.reason)})"
        case Faulted():
            return f"gets an injected fault ({_short(event.kind)})"
        case Steered():
            return "gets a message of its user"
    return "does something else"


def _plural(event: Event) -> str:
    match event:
        case Called():
            return f"call {_short(event.tool)}"
        case Said():
            return "write a message"
        case Steered():
            return "get a message of their user"
    return "get an error"


def _short(text: str) -> str:
    return one_line(text, width=_WIDTH)
