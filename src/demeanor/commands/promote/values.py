"""What nightly runs say about an eval's policy: may it promise more, must it promise less?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.run_diff import RunDiff

NightState: TypeAlias = Literal["pass", "fail", "no data", "before"]
"""All judged trials passed; one failed; none could be judged; a night of the eval before it changed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Night:
    """One nightly run, as far as it concerns one eval."""

    run: str
    """The run's id."""

    started: str
    """When it began: ISO 8601, UTC."""

    states: Mapping[str, NightState]
    """Enabled subject → what the night says of it."""

    @property
    def perfect(self) -> bool:
        """Whether every enabled subject was judged and passed every time."""
        return bool(self.states) and all(state == "pass" for state in self.states.values())

    @property
    def complete(self) -> bool:
        """Whether every enabled subject was judged."""
        return bool(self.states) and all(state in {"pass", "fail"} for state in self.states.values())


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """An eval held against a rule for promotion or demotion."""

    eval: str
    """The eval's name."""

    rule: str
    """The rule, by name."""

    answer: Literal["promote", "wait", "refuse", "demote", "keep"]
    """What follows. Wait: not enough is known; refuse: enough is known, and it is not good enough."""

    reason: str
    """Why, in a sentence with the numbers."""

    missing: tuple[str, ...] = ()
    """What still stands in the way, one sentence each."""

    distance: int = 0
    """How many more perfect nights it takes at least; 0 where nothing is missing."""

    nights: tuple[Night, ...] = ()
    """The nights that were looked at, oldest first."""

    counts: Mapping[str, tuple[int, int]] | None = None
    """Enabled subject → passed and judged in the nights that count."""

    changes: tuple[RunDiff, ...] = ()
    """What changed within these nights: their trials are not all of one thing."""
