"""What changed between runs of one eval with one subject, and how its pass rate developed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Part: TypeAlias = Literal["eval", "policy", "agent", "prompt", "subject"]
"""What can change: eval, policy, the agent's version, what it first sends (`prompt`), model or settings (`subject`)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunDiff:
    """A difference from the previous run."""

    run: str
    """The first run that differs."""

    started: str
    """When that run started."""

    part: Part
    """What changed."""

    subject: str
    """The subject, as `agent:model`."""

    before: str
    """The old version or hash."""

    after: str
    """The new version or hash."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangePoint:
    """A night from which on the pass rate is probably different."""

    direction: Literal["fall", "rise"]
    """The direction of the change."""

    began: str
    """The run in which the change probably began."""

    noticed: str
    """The first run with enough evidence."""

    before: tuple[int, int]
    """Passed and judged trials between the previous change point and this one."""

    after: tuple[int, int]
    """Passed and judged trials between this change point and the next."""

    causes: tuple[RunDiff, ...] = ()
    """What changed on the night it began or the night before: the first places to look."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateHistory:
    """A pass rate over time."""

    points: tuple[ChangePoint, ...]
    """Where the rate changed."""

    changes: tuple[RunDiff, ...]
    """Where the eval, agent, prompt or model changed."""

    nights_between_false_alarms: float
    """The mean number of nights between two false alarms of a fall, and likewise of a rise, for an eval that passes at
    least 90 % of the time; half as many for others."""

    assumed_rate: float | None
    """The rate assumed as normal since the last change point; None if there are too few nights."""

    fingerprints: tuple[str, ...]
    """The subject's fingerprints, in order of appearance; with more than one, the rates are not comparable."""
