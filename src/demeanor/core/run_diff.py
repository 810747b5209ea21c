"""What changed between two runs of one eval with one subject; two that differ are never averaged silently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Part: TypeAlias = Literal["eval", "policy", "agent", "prompt", "subject"]
"""What can change: the eval, its policy, the agent's version, its prompt or tools; subject means model or settings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunDiff:
    """A difference from the run before."""

    run: str
    """The first run that differs."""

    started: str
    """When that run began."""

    part: Part
    """What changed."""

    subject: str
    """The subject with which it was seen, as `agent:model`."""

    before: str
    """What it was: a version or a hash."""

    after: str
    """What it became."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangePoint:
    """A night since which the pass rate is probably another one."""

    direction: Literal["fall", "rise"]
    """Which way it went."""

    began: str
    """The run with which it probably began."""

    noticed: str
    """The run with which there was enough evidence."""

    before: tuple[int, int]
    """Passed and judged since the change point before this one, up to here."""

    after: tuple[int, int]
    """Passed and judged from here up to the next change point."""

    causes: tuple[RunDiff, ...] = ()
    """What changed on the night it began or the one before: where to look first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateHistory:
    """How a rate went over time."""

    points: tuple[ChangePoint, ...]
    """Where it changed."""

    changes: tuple[RunDiff, ...]
    """Where the eval, agent, prompt or model changed."""

    nights_between_false_alarms: float
    """How many nights pass on average between two falls that are none, and likewise between two such rises: for an eval
    that passes at least 90 % of the time; half of it for others."""

    assumed_rate: float | None
    """The rate taken as normal in the last stretch; None where there are too few nights to say."""

    fingerprints: tuple[str, ...]
    """The subject's fingerprints, in order of appearance: more than one means that the rates are not of one thing."""
