"""Progress events of a run: an attempt has started, an attempt has been judged, workers have come or gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.values.record import Record


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptStarted:
    """An attempt at a trial has started."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    number: int
    """The trial's number within its cell."""

    attempt: int
    """1, 2, 3 …"""

    type: Literal["started"] = "started"
    """The tag of this type."""

    @property
    def cell(self) -> str:
        """The cell's id."""
        return f"{self.eval}/{self.subject}"


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptJudged:
    """An attempt at a trial has been judged and stored; `record.final` says whether another one follows."""

    record: Record
    """The attempt."""

    type: Literal["judged"] = "judged"
    """The tag of this type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkersChanged:
    """The workers of the cluster that a run uses have changed."""

    workers: int
    """Workers that are used now."""

    slots: int
    """Attempts that they make in parallel, all together."""

    type: Literal["workers"] = "workers"
    """The tag of this type."""


Progress: TypeAlias = AttemptStarted | AttemptJudged | WorkersChanged
