"""The input and result of a gate for one cell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Decision
from demeanor.decide.gate.frontier import CellRates

if TYPE_CHECKING:
    from demeanor.decide.nights.baseline import Baseline


@dataclass(frozen=True, kw_only=True, slots=True)
class GateCell:
    """An eval with a subject, and its trials for this change so far."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's policy."""

    outcomes: tuple[bool, ...] = ()
    """The judged trials of this change in order: True for a pass."""

    voided: int = 0
    """Void trials of this change."""

    worst: tuple[bool, ...] = ()
    """The outcomes, with every void trial that the agent may have brought about counted as a fail."""

    past: Baseline | None = None
    """Its nightly results for the current version of the eval; None if there are none. An empty baseline is compared
    with the rate that a plan expects without nights."""

    checked_in: bool = False
    """Whether the change adds or edits the eval, so that the check-in rule decides whatever its nights were."""

    key: bool = True
    """Whether the subject is one of the key subjects, which decide the gate."""

    @property
    def name(self) -> str:
        """The cell's id."""
        return f"{self.eval}/{self.subject}"


@dataclass(frozen=True, kw_only=True, slots=True)
class GateAnswer:
    """The gate's decision about a cell, and how many more trials it needs."""

    cell: GateCell
    """The cell."""

    decision: Decision
    """The decision; undecided as long as `more` is above 0, except in a second look."""

    more: int = 0
    """The number of further trials wanted now: the fewest that can decide it, or those of a second look."""

    used: int | None = None
    """The number of trials that a rejection depends on, the rest are fresh; None if it can't be confirmed."""

    rates: CellRates | None = None
    """The error rates of its rule, for its own history; None for ALWAYS_PASSES and skipped cells."""

    suspected: bool = False
    """Whether an accepted cell looks worse after a second look, as another subject of its eval was rejected."""

    doubt: float = 0.0
    """How uncertain the decision is, 0 to 1; with a limited budget, the most uncertain cell comes first."""
