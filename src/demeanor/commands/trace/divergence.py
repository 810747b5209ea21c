"""Where a trial that failed and one that passed part: what each of them did there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from demeanor.commands.trace.side_by_side import told_step
from demeanor.commands.trace.trial_steps import TrialSteps
from demeanor.core.record import Record
from demeanor.core.text import one_line
from demeanor.core.trajectory import Called, Event, Faulted, ModelFailed, Said
from demeanor.core.trajectory_diff import Pair, align, distance, first_divergence

_WIDTH = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Divergence:
    """Where a trial that failed and one that passed part."""

    step: int
    """At which of their steps: 1, 2, 3 …"""

    did: str
    """What the one that failed did there. Hostile text."""

    instead: str
    """What the one that passed did there. Hostile text."""

    passing: Record
    """The one that passed."""

    run: str
    """The run that it is of."""


def nearest(story: TrialSteps, passed: Sequence[TrialSteps]) -> TrialSteps | None:
    """Of trials that passed, the one that went the most similar way; of the same subject where there is one."""
    told = [one for one in passed if one.events is not None]
    own = [one for one in told if one.record.subject == story.record.subject] or told
    events = story.events or ()
    return min(own, key=lambda one: (distance(events, one.events or ()), place(one)), default=None)


def place(story: TrialSteps) -> tuple[str, str, int, str]:
    """What trials are put in order by."""
    return story.record.eval, story.record.subject, story.record.number, story.run


def parted(story: TrialSteps, passing: TrialSteps | None) -> tuple[str, Divergence | None]:
    """What a trial did otherwise than one that passed, and where; None where they took the same steps."""
    if passing is None or story.events is None or passing.events is None:
        return "", None
    pairs = align(story.events, passing.events)
    at = first_divergence(pairs)
    if at is None:
        return "", None
    parting = Divergence(
        step=at + 1,
        did=_at(pairs, at, "left"),
        instead=_at(pairs, at, "right"),
        passing=passing.record,
        run=passing.run,
    )
    return _title(pairs, at), parting


def _at(pairs: Sequence[Pair], at: int, side: Literal["left", "right"]) -> str:
    """What one of them did there: its step, or the next that it took, or that it had ended."""
    for pair in pairs[at:]:
        event = getattr(pair, side)
        if event is not None:
            return one_line(told_step(event), width=400)
    return "nothing more"


def _title(pairs: Sequence[Pair], at: int) -> str:
    """What went otherwise, in words that fit every trial of the group."""
    ours, theirs = pairs[at].left, pairs[at].right
    if theirs is None:
        return f"{_does(ours)}, which trials that passed do not"
    if ours is None and all(pair.left is None for pair in pairs[at:]):
        return f"ends before {_noun(theirs)}, which trials that passed come to"
    if ours is None:
        return f"leaves out {_noun(theirs)}, which trials that passed do not"
    if isinstance(ours, Called) and isinstance(theirs, Called) and ours.tool == theirs.tool:
        return f"calls {_short(ours.tool)} with other arguments{_differing(ours, theirs)} than trials that passed"
    return f"{_does(ours)} where trials that passed go on with {_noun(theirs)}"


def _differing(ours: Called, theirs: Called) -> str:
    names = sorted(
        name
        for name in {*ours.arguments, *theirs.arguments}
        if (name in ours.arguments, ours.arguments.get(name)) != (name in theirs.arguments, theirs.arguments.get(name))
    )
    return f" ({', '.join(map(_short, names[:5]))})" if names else ""


def _does(event: Event | None) -> str:
    match event:
        case Called():
            return f"calls {_short(event.tool)}"
        case Said():
            return "says something"
        case ModelFailed():
            return f"meets a model that fails ({_short(event.reason)})"
        case Faulted():
            return f"meets an injected fault ({_short(event.kind)})"
    return "does something else"


def _noun(event: Event) -> str:
    match event:
        case Called():
            return f"a call of {_short(event.tool)}"
        case Said():
            return "words to the user"
    return "an answer that failed"


def _short(text: str) -> str:
    return one_line(text, width=_WIDTH)
