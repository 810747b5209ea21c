"""What earlier runs found, counted: all that reports over time and decisions need to know of the past."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.core.evidence import Spent
from holdfast.core.policy import Policy
from holdfast.core.record import RunKind


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCell:
    """What one run found of one eval with one subject."""

    run: str
    """The run's id."""

    started: str
    """When the run began: ISO 8601, UTC."""

    kind: RunKind
    """Why it was run."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's policy at the time."""

    passed: int = 0
    """Trials that passed."""

    failed: int = 0
    """Trials that failed."""

    voided: int = 0
    """Trials that could not be judged, after all attempts."""

    skipped: bool = False
    """Whether the cell was planned, and nothing of it was tried on purpose."""

    commit: str | None = None
    """The commit of the repository it ran in."""

    eval_hash: str = ""
    """Differs as soon as the eval does."""

    prompt_hash: str | None = None
    """Differs as soon as the system prompt or the tools do; None where nothing was sent."""

    agent_version: str | None = None
    """What the agent said of itself."""

    fingerprint: str = ""
    """Differs as soon as the subject does; two of them are never averaged silently."""

    spent: Spent = field(default_factory=Spent)
    """What all attempts used, as far as known."""

    @property
    def judged(self) -> int:
        """How many trials count."""
        return self.passed + self.failed
