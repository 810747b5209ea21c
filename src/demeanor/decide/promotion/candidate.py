"""What a rule of promotion or demotion says of an eval, and the nights that it considered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.values.error_rates import ErrorRates
from demeanor.core.values.run_diff import RunDiff

Answer: TypeAlias = Literal["promote", "wait", "refuse", "demote", "keep"]
NightState: TypeAlias = Literal["pass", "fail", "no data", "before"]
"""All trials passed; one failed; none did, and some or all are void; the night is before the last change of eval or
subject."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateNight:
    """The results of one eval in one nightly run."""

    run: str
    """The run's id."""

    started: str
    """When it began: ISO 8601, UTC."""

    states: Mapping[str, NightState]
    """Enabled subject → its result."""

    @property
    def perfect(self) -> bool:
        """Whether every enabled subject was judged and passed all trials."""
        return bool(self.states) and all(state == "pass" for state in self.states.values())

    @property
    def complete(self) -> bool:
        """Whether every enabled subject was judged."""
        return bool(self.states) and all(state in {"pass", "fail"} for state in self.states.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """The decision on one eval by a rule of promotion or demotion."""

    eval: str
    """The eval's name."""

    rule: str
    """The rule, by name."""

    answer: Answer
    """The decision. Wait: too little data. Refuse: enough data, and the eval is not good enough."""

    reason: str
    """Why, in a sentence with the numbers."""

    missing: tuple[str, ...] = ()
    """What is missing for a promotion, or the reasons for a demotion."""

    distance: int = 0
    """The minimum number of perfect nights that are still needed."""

    nights: tuple[CandidateNight, ...] = ()
    """The nights that were considered, oldest first."""

    counts: Mapping[str, tuple[int, int]] | None = None
    """Enabled subject → passed and judged in the nights that count."""

    trials: int | None = None
    """The smallest number of judged trials that a subject has in one of these nights; None if there is none."""

    commits: tuple[str, ...] = ()
    """The commits that these nights ran at, oldest first."""

    branches: tuple[str, ...] = ()
    """The branches that they ran on."""

    error_rates: ErrorRates | None = None
    """The error rates of the rule with this number of trials and subjects, for an eval that is ready."""

    shared: tuple[str, ...] = ()
    """Other evals that share its policy argument, because they are created in a loop: they change together."""

    changes: tuple[RunDiff, ...] = ()
    """What changed in the subjects or the eval during these nights."""
