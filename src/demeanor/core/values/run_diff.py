"""What changed between runs of one eval with one subject, and how its pass rate developed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Part: TypeAlias = Literal["eval", "policy", "agent", "prompt", "model", "files", "subject"]
"""What can change: eval, policy, the agent's version, what it first sends (`prompt`), what answers as
model, the files of the agent, and its settings (`subject`)."""


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
    """The first run after the change: the one that is most likely right or next to right."""

    last_before: str
    """The last run that is before the change for certain (95 %)."""

    first_after: str
    """The first run that is after the change for certain (95 %)."""

    commits: tuple[str, str] | None
    """The commits of these two runs; None if one is not known."""

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

    nights_between_false_alarms: int
    """The mean number of nights between two false alarms of the eval, at least, whatever its rate."""

    nights: int
    """The nights with data since the last change of the rate or edit of the eval."""

    enough: bool
    """Whether these are enough to detect a change."""

    fingerprints: tuple[str, ...]
    """The subject's fingerprints, in order of appearance; with more than one, the rates are not comparable."""
