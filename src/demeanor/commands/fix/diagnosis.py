"""What is known of evals that fail: all that an engineer, or an agent, needs to mend what broke."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.commands.fix.text_search import TextLocation
from demeanor.commands.report.report import FailureMode
from demeanor.commands.trace.trial_steps import TrialSteps
from demeanor.core.policy import Policy
from demeanor.core.record import RunInfo


@dataclass(frozen=True, kw_only=True, slots=True)
class Failing:
    """One eval with one subject that failed."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's policy."""

    passed: int
    """Trials of the run that passed."""

    judged: int
    """Trials of the run that count."""

    ways: tuple[FailureMode, ...] = ()
    """The ways in which trials failed, the most common first. Hostile text."""

    failing: TrialSteps | None = None
    """A trial that failed."""

    passing: TrialSteps | None = None
    """The nearest trial that passed, of this run or of a night before; None where none is known."""

    sent: str | None = None
    """System prompt and tools as the failing trial sent them; None where they are not at hand. Hostile text."""

    sent_when_passing: str | None = None
    """The same of the trial that passed."""

    log: str = ""
    """What the failing trial's agent printed, errors included. Hostile text."""

    absence: str = ""
    """Why its capture is not at hand, if so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DiagnosisTarget:
    """An eval that is to be mended for, as a brief tells of it."""

    name: str
    """Its name."""

    description: str
    """A sentence for people."""

    prompts: tuple[str, ...]
    """What the agent is asked."""

    where: str
    """`path:line` of its definition, from the top of the repository."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """What is known of the evals of one run that fail."""

    run: RunInfo
    """The run that they failed in."""

    commit: str
    """The commit that is to be mended."""

    evals: tuple[DiagnosisTarget, ...]
    """The evals, in the order of the report: the worst first."""

    failures: tuple[Failing, ...]
    """What failed, per eval and subject."""

    subjects: tuple[str, ...] = ()
    """All subjects of the run that had one of these evals, those that passed included."""

    places: Mapping[str, tuple[TextLocation, ...]] = field(default_factory=dict)
    """By text that was sent (`system prompt`, `tool read_file`): where in the repository it lies."""

    allowed: tuple[str, ...] = ()
    """What a fixer may change: patterns from the top of the repository."""

    evals_too: bool = False
    """Whether it may change evals, as a last resort."""

    notes: tuple[str, ...] = ()
    """What a person should know."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The files that the texts come from, as far as can be told."""
        found = (place.path for places in self.places.values() for place in places if place.source)
        return tuple(dict.fromkeys(found))
