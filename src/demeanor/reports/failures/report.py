"""The failures of a run, in as few groups as there are things to fix.

Failed trials are grouped by where they diverge from the most similar trial of the same eval that passed: what they did
there, and what the passing trial did instead. When that is not known (no trial passed, or both took the same steps),
they are grouped by their failed checks. Voids are grouped by cause. Every trial that did not pass is in exactly one
group.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.text.wording import one_line
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Void
from demeanor.render import ReportDocument
from demeanor.reports.trial import Divergence, find_divergence, nearest_pass, sort_key
from demeanor.results import TrialSteps, way

GroupKind: TypeAlias = Literal["divergence", "finding", "void"]

_OWN_CHECKS = {"agent", "leak"}
"""Checks of Demeanor itself. When one of these fails, the steps are not what went wrong."""
_NUMBERS = re.compile(r"0x[0-9a-f]+|[0-9a-f]{8,}|\d+(?:\.\d+)?", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """A reason that some trials share."""

    text: str
    """The failed checks, or the cause of the void. Hostile text."""

    trials: int
    """How many trials have it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Trials that went wrong in the same way."""

    kind: GroupKind
    """What they have in common: the step at which they diverge, the failed checks, or the cause of the void."""

    title: str
    """What went wrong, in a line. Partly hostile text."""

    trials: tuple[Record, ...]
    """The trials: the example, then the others by eval, subject and number; at least one."""

    expected: bool = False
    """Whether all of them belong to evals that are known to fail."""

    parting: Divergence | None = None
    """Where the example diverges from the most similar passing trial; None when that is not known."""

    reasons: tuple[Reason, ...] = ()
    """Their reasons, the most frequent first, which is that of the example."""

    reproduce: str = ""
    """The command that runs the example again."""

    trace: str = ""
    """The command that shows what happened in the example."""

    @property
    def example(self) -> Record:
        """The trial to look at first."""
        return self.trials[0]

    @property
    def cells(self) -> Mapping[tuple[str, str], int]:
        """The number of trials by eval and subject, the largest first."""
        counted = Counter((trial.eval, trial.subject) for trial in self.trials)
        return dict(sorted(counted.items(), key=lambda item: (-item[1], item[0])))

    @property
    def evals(self) -> tuple[str, ...]:
        """The names of the evals."""
        return tuple(dict.fromkeys(name for name, _ in self.cells))

    @property
    def subjects(self) -> tuple[str, ...]:
        """The subjects."""
        return tuple(dict.fromkeys(subject for _, subject in self.cells))


@dataclass(frozen=True, kw_only=True, slots=True)
class Triage:
    """The failures of a run, in groups."""

    run: str
    """The run's name."""

    trials: int
    """How many trials count."""

    failed: int
    """How many of them failed."""

    voided: int
    """How many of them are void."""

    groups: tuple[Group, ...]
    """The groups, the largest first; known failures last."""

    notes: tuple[str, ...] = ()
    """Notes for the reader."""


TRIAGE_DOCUMENT = ReportDocument("failures", Triage)
"""The JSON document of this report."""


def group_failures(trials: Iterable[TrialSteps], others: Iterable[TrialSteps] = ()) -> tuple[Group, ...]:
    """Group the trials that did not pass: the largest group first, but known failures last.

    `trials` are those of the run. `others` are passing trials of earlier runs, for evals of which no trial passed. The
    order of the arguments does not matter.
    """
    ordered = sorted(trials, key=sort_key)
    passed = _passes_by_eval(ordered)
    passed_earlier = _passes_by_eval(sorted(others, key=sort_key))
    members: dict[tuple[bool, GroupKind, str], list[tuple[TrialSteps, Divergence | None]]] = {}
    titles: dict[tuple[bool, GroupKind, str], str] = {}
    for trial in ordered:
        if isinstance(trial.record.verdict, Pass):
            continue
        name = trial.record.eval
        kind, key, title, divergence = _classify(trial, passed.get(name) or passed_earlier.get(name) or [])
        full_key = (trial.record.policy is Policy.USUALLY_FAILS, kind, key)
        members.setdefault(full_key, []).append((trial, divergence))
        titles.setdefault(full_key, title)
    groups = [_group(kind, titles[key], expected, own) for key, own in members.items() for expected, kind, _ in [key]]
    return tuple(sorted(groups, key=_rank))


def _rank(group: Group) -> tuple[bool, int, str, str, str]:
    return group.expected, -len(group.trials), group.kind, group.title, group.example.trial


def _passes_by_eval(trials: Iterable[TrialSteps]) -> dict[str, list[TrialSteps]]:
    """Return the passing trials by eval, one for each distinct sequence of steps."""
    passes: dict[str, dict[tuple[str, tuple[str, ...]], TrialSteps]] = {}
    for trial in trials:
        if isinstance(trial.record.verdict, Pass):
            passes.setdefault(trial.record.eval, {}).setdefault((trial.record.subject, way(trial.events or ())), trial)
    return {name: list(distinct.values()) for name, distinct in passes.items()}


def _classify(trial: TrialSteps, passed: Sequence[TrialSteps]) -> tuple[GroupKind, str, str, Divergence | None]:
    """Return the kind and key of a trial's group, a title, and where it diverges from a passing trial."""
    record, verdict = trial.record, trial.record.verdict
    if isinstance(verdict, Void):
        title = f"void({verdict.cause}): {one_line(verdict.detail, width=200)}"
        return "void", f"{verdict.cause} {_normalised(verdict.detail, record)}", title, None
    failed_checks = [finding for finding in verdict.findings if finding.answer == "no"]
    divergence = find_divergence(trial, nearest_pass(trial, passed))
    if (
        divergence is not None
        and divergence.general
        and not any(finding.check in _OWN_CHECKS for finding in failed_checks)
    ):
        return "divergence", divergence.general, divergence.general, divergence
    key = "; ".join(f"{finding.check}: {_normalised(finding.reason, record)}" for finding in failed_checks)
    return "finding", key, _title(failed_checks), divergence


def _title(failed_checks: Sequence[Finding]) -> str:
    texts = (
        f"{finding.check}: {finding.reason.strip().splitlines()[0]}" if finding.reason.strip() else finding.check
        for finding in failed_checks
    )
    return one_line("; ".join(dict.fromkeys(texts)), width=200) or "failed without a finding"


def _normalised(text: str, record: Record) -> str:
    """Return the first line of a text without names and numbers, which differ from trial to trial."""
    return _without_details(next(iter(text.strip().splitlines()), ""), record, width=400)


def _without_details(text: str, record: Record, *, width: int = 10_000) -> str:
    for name in filter(None, (record.trial, record.cell, record.eval, record.subject)):
        text = text.replace(name, "…")
    return _NUMBERS.sub("#", one_line(text, width=width))


def _group(kind: GroupKind, title: str, expected: bool, own: Sequence[tuple[TrialSteps, Divergence | None]]) -> Group:
    alike: dict[str, list[int]] = {}  # reasons without names and numbers → the positions of their trials in `own`
    for position, (trial, _) in enumerate(own):
        alike.setdefault(_without_details(_reason(trial.record), trial.record), []).append(position)
    by_number = sorted(alike.values(), key=lambda numbers: (-len(numbers), _reason(own[numbers[0]][0].record)))
    example = by_number[0][0]
    sentences = {divergence.sentence for _, divergence in own if divergence is not None}
    return Group(
        kind=kind,
        title=sentences.pop() if kind == "divergence" and len(sentences) == 1 else title,
        trials=(own[example][0].record, *(trial.record for trial, _ in own if trial is not own[example][0])),
        expected=expected,
        parting=own[example][1],
        reasons=tuple(Reason(text=_reason(own[numbers[0]][0].record), trials=len(numbers)) for numbers in by_number),
    )


def _reason(record: Record) -> str:
    """The reasons of a trial, each once."""
    verdict = record.verdict
    if isinstance(verdict, Fail):
        texts = dict.fromkeys(finding.reason or finding.check for finding in verdict.findings if finding.answer == "no")
        return "\n".join(texts).replace(record.trial, record.cell)
    return verdict.reason.replace(record.trial, record.cell) if isinstance(verdict, Void) else ""
