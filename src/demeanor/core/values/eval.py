"""One behaviour under test: a scenario, checks and a policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from demeanor.core.values.checks import Check, FunctionCheck
from demeanor.core.values.judge_question import JudgeSettings
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.whole_task import WholeTask

Rehearsal: TypeAlias = Callable[[Any], None]
"""A function that plays the agent in the self-test; it gets a `Stage` (see judge/simulation.py)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where an eval is defined."""

    path: Path
    """The Python file or the scenario's folder."""

    line: int = 1
    """The line of the definition."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderChoice:
    """The provider that a scenario in Cline's format chooses."""

    where: Path
    """The file that chooses it."""

    name: str | None = None
    """Its name; None if the file names none."""

    key_env: str | None = None
    """The environment variable with its key; None means the usual one."""

    base_url_env: str | None = None
    """The environment variable with its URL; None means the usual URL."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Eval:
    """One behaviour under test. The sentence under a field is also its documentation for authors."""

    name: str
    """The eval's name, unique within a run."""

    policy: Policy
    """How consistently the eval passes: `ALWAYS_PASSES`, `USUALLY_PASSES` or `USUALLY_FAILS`. Start with
    `USUALLY_PASSES`.
    """

    scenario: Scenario
    """The situation."""

    checks: tuple[Check, ...]
    """The checks; at least one. All of them are evaluated in every trial."""

    source: Source
    """Where the eval is defined."""

    description: str = ""
    """A sentence for readers of reports."""

    trials: int | None = None
    """The number of trials."""

    subjects: tuple[str, ...] = ()
    """The subjects to test, as `["agent:model"]`."""

    models: tuple[str, ...] = ()
    """The models to test, with any agent."""

    provider: ProviderChoice | None = None
    """Who serves `models`, in the terms of the format that the eval is written in; None if their names say it."""

    tags: tuple[str, ...] = ()
    """Labels for `-k`."""

    suite: str | None = None
    """The suite it belongs to, for `--suite`."""

    owner: str | None = None
    """The person or team responsible for it."""

    issue: str | None = None
    """The issue that it came from or is tracked in."""

    log: bool = False
    """Also write each trial's call chain to `logs/` next to the eval."""

    passes_on: tuple[Rehearsal, ...] = ()
    """One or more behaviours that must pass; see the self-test."""

    fails_on: tuple[Rehearsal, ...] = ()
    """One or more behaviours that must fail; see the self-test."""

    task: WholeTask | None = None
    """The whole task that this eval represents; None for evals in Python or scenario folders."""

    cases_of: str | None = None
    """The name that it shares with the other cases of its table; None for an eval without cases."""

    does_nothing_passes: bool = False
    """Whether an agent that does nothing passes. Such an eval needs a `fails_on`."""

    gaps: tuple[str, ...] = ()
    """What is still unknown about the situation or the checks, one sentence each. `demeanor validate` reports each of
    them, and the eval is skipped until the list is empty. `demeanor adopt` writes it.
    """

    judge: JudgeSettings = field(default_factory=JudgeSettings)
    """The project's judge, for checks that ask one."""

    @property
    def layer(self) -> int:
        """The layer of the test pyramid: 3 for a whole task, otherwise 2."""
        return 2 if self.task is None else 3

    def __call__(self, rig: Any, result: str) -> Any:
        """Call the author's check function directly."""
        for check in self.checks:
            if isinstance(check, FunctionCheck):
                return check.function(rig, result, **check.arguments)
        raise TypeError(f"eval {self.name!r} has no check function")


def name_problem(name: str) -> str | None:
    """Why `name` can't be an eval's name, or None if it can."""
    if not name.strip() or name != name.strip():
        return "a name must not be empty and must not start or end with a blank"
    if not name.isprintable() or "/" in name or "::" in name:
        return "a name must not contain a slash, «::» or invisible characters"
    return None
