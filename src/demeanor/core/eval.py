"""One behaviour under test: a scenario, checks and a policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from demeanor.core.checks import Check, FunctionCheck
from demeanor.core.harbor_task import HarborTask
from demeanor.core.policy import Policy
from demeanor.core.scenario import Scenario

Rehearsal: TypeAlias = Callable[[Any], None]
"""A function that plays the agent for the self-test; it gets a `Stage` (see judge/rehearsal.py)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where an eval is written down."""

    path: Path
    """The Python file, or the scenario's folder."""

    line: int = 1
    """The line of the definition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Eval:
    """One behaviour under test."""

    name: str
    """Unique among all evals of a run."""

    policy: Policy
    """How consistent the behaviour is expected to be."""

    scenario: Scenario
    """The situation."""

    checks: tuple[Check, ...]
    """The questions asked of the evidence; all of them are asked, each time."""

    source: Source
    """Where it is written down."""

    description: str = ""
    """A sentence for people."""

    trials: int | None = None
    """How many trials it wants; None means the run's default."""

    subjects: tuple[str, ...] = ()
    """The subjects it is meant for (`agent:model`); none means the run's."""

    models: tuple[str, ...] = ()
    """The models it is meant for, on whichever agent runs; none means any."""

    tags: tuple[str, ...] = ()
    """Labels to choose by."""

    suite: str | None = None
    """The suite it belongs to."""

    owner: str | None = None
    """Who looks after it."""

    issue: str | None = None
    """The issue it came from or is tracked in."""

    log: bool = False
    """Also write each trial's call chain to `logs/` beside the eval's source."""

    passes_on: tuple[Rehearsal, ...] = ()
    """Behaviours that must pass: the self-test proves that the eval can."""

    fails_on: tuple[Rehearsal, ...] = ()
    """Behaviours that must fail, besides doing nothing."""

    task: HarborTask | None = None
    """The task in Harbor's format that this eval stands for; None for an eval of our own."""

    does_nothing_passes: bool = False
    """True where doing nothing is right (a «must not act» eval); such an eval must give a `fails_on`."""

    @property
    def layer(self) -> int:
        """Which layer of the pyramid it belongs to: 2 where it asks for a behaviour, 3 where it is a whole task."""
        return 2 if self.task is None else 3

    def __call__(self, rig: Any, result: str) -> Any:
        """Ask the author's function directly, as a plain function would be called."""
        for check in self.checks:
            if isinstance(check, FunctionCheck):
                return check.function(rig, result)
        raise TypeError(f"eval {self.name!r} has no check that is a function")
