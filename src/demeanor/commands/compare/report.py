"""A comparison as a value: every format is made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.commands.compare.values import CompareOutcome, Comparison, EvalComparison
from demeanor.core.exit_code import ExitCode
from demeanor.core.history import RunCell
from demeanor.render.documents import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """One of the two that are compared."""

    name: str
    """As it was asked for."""

    kind: str
    """What it is: a run, a subject, a branch, a commit."""

    runs: tuple[str, ...]
    """The runs that are added up, oldest first."""

    commit: str | None = None
    """The commit, where it is only one."""

    cells: tuple[RunCell, ...] = ()
    """What these runs found."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SideNote:
    """What a report says of a side."""

    name: str
    """As it was asked for."""

    kind: str
    """What it is."""

    runs: tuple[str, ...]
    """The runs that were added up, oldest first."""

    commit: str | None
    """The commit, where it is only one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompareReport:
    """Is the new side worse than the base?"""

    base: SideNote
    """What is compared with."""

    new: SideNote
    """What is compared."""

    comparison: Comparison
    """What they say about each other."""

    counts: Mapping[str, int]
    """Outcome → evals."""

    exit_code: ExitCode
    """Rejected where an eval regressed, undecided where nothing could be compared."""

    notes: tuple[str, ...] = field(default=())
    """What a person should know."""

    def with_outcome(self, outcome: CompareOutcome) -> tuple[EvalComparison, ...]:
        """The evals of one outcome."""
        return tuple(one for one in self.comparison.evals if one.outcome is outcome)


COMPARE_DOCUMENT = Document("compare", CompareReport)
"""The JSON document of this report."""


def compare_report(base: Side, new: Side, found: Comparison, *, notes: tuple[str, ...] = ()) -> CompareReport:
    """Everything that can be said of two sides."""
    counts = {outcome.value: sum(one.outcome is outcome for one in found.evals) for outcome in CompareOutcome}
    code = ExitCode.REJECTED if counts[CompareOutcome.REGRESSED] else ExitCode.ACCEPTED
    return CompareReport(
        base=_note(base),
        new=_note(new),
        comparison=found,
        counts=counts,
        exit_code=code if found.evals else ExitCode.UNDECIDED,
        notes=notes,
    )


def _note(side: Side) -> SideNote:
    return SideNote(name=side.name, kind=side.kind, runs=side.runs, commit=side.commit)
