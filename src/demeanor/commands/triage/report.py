"""What went wrong in a run, in as few groups as there are things to mend.

Trials that failed are grouped by where they part from the nearest trial of the same eval that passed: what they did
there, and what was done instead. Where that can't be told (no trial passed, or both took the same steps) they are
grouped by the findings that said no, and voids by their cause. Every trial that did not pass is in one group.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.commands.trace.divergence import Divergence, nearest, parted, place
from demeanor.commands.trace.trial_steps import TrialSteps
from demeanor.core.policy import Policy
from demeanor.core.record import Record
from demeanor.core.text import one_line
from demeanor.core.trajectory_diff import way
from demeanor.core.verdict import Fail, Finding, Pass, Void
from demeanor.render.documents import Document

GroupKind: TypeAlias = Literal["divergence", "finding", "void"]

_OWN_CHECKS = {"agent", "leak"}
"""What Demeanor itself found: there the steps are not what went wrong."""
_NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+(?:\.\d+)?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """What was said of some trials."""

    text: str
    """The findings that said no, or the cause of the void. Hostile text."""

    trials: int
    """Of how many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Trials that went wrong in the same way."""

    kind: GroupKind
    """What they have in common: the step at which they go another way, the findings, or the cause of their void."""

    title: str
    """What went wrong, in a line. Partly hostile text."""

    trials: tuple[Record, ...]
    """The trials, by eval, subject and number; never none."""

    expected: bool = False
    """Whether they are all of evals that are known to fail."""

    parting: Divergence | None = None
    """Where the example parts from the nearest trial that passed; None where that is not known."""

    reasons: tuple[Reason, ...] = ()
    """What was said of them, the most frequent first."""

    reproduce: str = ""
    """The command that tries the example again."""

    trace: str = ""
    """The command that shows what happened in the example."""

    @property
    def example(self) -> Record:
        """The one to look at first."""
        return self.trials[0]

    @property
    def cells(self) -> Mapping[tuple[str, str], int]:
        """Eval and subject → how many trials of them are here, the most first."""
        counted = Counter((trial.eval, trial.subject) for trial in self.trials)
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    @property
    def evals(self) -> tuple[str, ...]:
        """The evals that are concerned."""
        return tuple(dict.fromkeys(name for name, _ in self.cells))

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects that are concerned."""
        return tuple(dict.fromkeys(subject for _, subject in self.cells))


@dataclass(frozen=True, kw_only=True, slots=True)
class Triage:
    """A run, and what went wrong in it."""

    run: str
    """The run's name."""

    trials: int
    """How many trials count."""

    failed: int
    """How many of them failed."""

    voided: int
    """How many of them are void."""

    groups: tuple[Group, ...]
    """What went wrong, the largest group first."""

    notes: tuple[str, ...] = ()
    """What a person should know."""


TRIAGE_DOCUMENT = Document("triage", Triage)
"""The JSON document of this report."""


def triage(stories: Iterable[TrialSteps], others: Iterable[TrialSteps] = ()) -> tuple[Group, ...]:
    """The trials that did not pass, in groups: known failures last, and before that the largest first.

    `stories` are the trials of a run; `others` those of earlier runs, to be held against where none of them passed.
    The order in which they are given does not matter.
    """
    found = sorted(stories, key=place)
    passed = _passed(found)
    earlier = _passed(sorted(others, key=place))
    groups: dict[tuple[bool, GroupKind, str], list[tuple[TrialSteps, Divergence | None]]] = {}
    titles: dict[tuple[bool, GroupKind, str], str] = {}
    for story in found:
        if isinstance(story.record.verdict, Pass):
            continue
        name = story.record.eval
        kind, key, title, parting = _sorted_in(story, passed.get(name) or earlier.get(name) or [])
        whole = (story.record.policy is Policy.USUALLY_FAILS, kind, key)
        groups.setdefault(whole, []).append((story, parting))
        titles.setdefault(whole, title)
    made = [_group(kind, titles[key], expected, own) for key, own in groups.items() for expected, kind, _ in [key]]
    return tuple(sorted(made, key=_rank))


def _rank(group: Group) -> tuple[bool, int, str, str, str]:
    return group.expected, -len(group.trials), group.kind, group.title, group.example.trial


def _passed(stories: Iterable[TrialSteps]) -> dict[str, list[TrialSteps]]:
    """By eval: the trials that passed, one for each way to get there."""
    found: dict[str, dict[tuple[str, tuple[str, ...]], TrialSteps]] = {}
    for story in stories:
        if isinstance(story.record.verdict, Pass):
            found.setdefault(story.record.eval, {}).setdefault((story.record.subject, way(story.events or ())), story)
    return {name: list(ways.values()) for name, ways in found.items()}


def _sorted_in(story: TrialSteps, passed: Sequence[TrialSteps]) -> tuple[GroupKind, str, str, Divergence | None]:
    """The kind and key of the group that a trial belongs to, its title, and where it parts from one that passed."""
    record, verdict = story.record, story.record.verdict
    if isinstance(verdict, Void):
        title = f"void({verdict.cause}): {one_line(verdict.detail, width=200)}"
        return "void", f"{verdict.cause} {_rough(verdict.detail, record)}", title, None
    refusals = [one for one in verdict.findings if one.answer == "no"]
    title, parting = parted(story, nearest(story, passed))
    if parting is not None and not any(one.check in _OWN_CHECKS for one in refusals):
        return "divergence", title, title, parting
    key = "; ".join(f"{one.check}: {_rough(one.reason, record)}" for one in refusals)
    return "finding", key, _named(refusals), parting


def _named(refusals: Sequence[Finding]) -> str:
    told = (
        f"{one.check}: {one.reason.strip().splitlines()[0]}" if one.reason.strip() else one.check for one in refusals
    )
    return one_line("; ".join(told), width=200) or "failed without a finding"


def _rough(text: str, record: Record) -> str:
    """The first line of a text without what differs from trial to trial: its name, and numbers."""
    first = next(iter(text.strip().splitlines()), "")
    for name in filter(None, (record.trial, record.cell, record.eval, record.subject)):
        first = first.replace(name, "…")
    return _NUMBERS.sub("#", one_line(first, width=400))


def _group(kind: GroupKind, title: str, expected: bool, own: Sequence[tuple[TrialSteps, Divergence | None]]) -> Group:
    reasons = Counter(_reason(story.record) for story, _ in own)
    return Group(
        kind=kind,
        title=title,
        trials=tuple(story.record for story, _ in own),
        expected=expected,
        parting=own[0][1],
        reasons=tuple(
            Reason(text=text, trials=n) for text, n in sorted(reasons.items(), key=lambda one: (-one[1], one[0]))
        ),
    )


def _reason(record: Record) -> str:
    verdict = record.verdict
    return verdict.reason.replace(record.trial, record.cell) if isinstance(verdict, Fail | Void) else ""
