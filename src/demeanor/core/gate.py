"""The input and result of a gate for one cell."""

from __future__ import annotations

from dataclasses import dataclass

from demeanor.core.policy import Policy
from demeanor.core.tally import Decision


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """What nightly runs found of an eval with a subject, added up."""

    passed: int
    """Trials that passed."""

    failed: int
    """Trials that failed."""

    nights: int
    """Nights with at least one judged trial."""

    fingerprints: tuple[str, ...] = ()
    """The subject's fingerprints in these nights, oldest first; more than one means that they are not of one thing."""

    @property
    def judged(self) -> int:
        """How many trials count."""
        return self.passed + self.failed

    @property
    def mixed(self) -> bool:
        """Whether nights with different fingerprints were added up; whoever shows the rate must say so."""
        return len(self.fingerprints) > 1


@dataclass(frozen=True, kw_only=True, slots=True)
class GateCell:
    """An eval with a subject, as far as it has been tried for this change."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's policy."""

    outcomes: tuple[bool, ...] = ()
    """The judged trials of this change in the order of their numbers: True for a pass."""

    voided: int = 0
    """Trials of this change that could not be judged."""

    past: Baseline | None = None
    """Its nights, if any are of the eval as it is now."""

    key: bool = True
    """Whether the subject is one of those that the gate depends on."""

    @property
    def name(self) -> str:
        """The cell's id."""
        return f"{self.eval}/{self.subject}"


@dataclass(frozen=True, kw_only=True, slots=True)
class GateAnswer:
    """What the gate says of a cell, and what it still wants to know."""

    cell: GateCell
    """The cell."""

    decision: Decision
    """The answer; undecided as long as `more` is above 0."""

    more: int = 0
    """How many more trials are wanted now: the fewest that can settle it."""

    p_value: float | None = None
    """How surprising the fresh trials are after the cell's own past; None where that was not asked."""

    adjusted: float | None = None
    """The same, raised for the number of cells that were asked."""

    doubt: float = 0.0
    """How open the answer is, 0 to 1: where trials are scarce, the most doubtful cell comes first."""
