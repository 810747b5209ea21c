"""What earlier runs found, counted: all that reports over time and decisions need to know of the past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from demeanor.core.evidence import Spent
from demeanor.core.policy import Policy
from demeanor.core.record import RunInfo, RunKind

Ruling: TypeAlias = Literal["gate", "promote", "demote", "compare", "bisect", "check-in"]
"""What a decision that is kept was about."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PastRun:
    """A run that is kept, here or by another machine."""

    info: RunInfo
    """Who ran what; its `id` is the run's name in the store, which no other run there has."""

    origin: str = "demeanor"
    """What wrote it: `demeanor`, or the format that it was imported from."""

    source: str = ""
    """The folder or file that it came from."""

    cells: int = 0
    """How many cells it has, skipped ones included."""

    @property
    def name(self) -> str:
        """The run's name in the store."""
        return self.info.id


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCell:
    """What one run found of one eval with one subject."""

    run: str
    """The run's name in the store."""

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
    """Differs as soon as the subject does; two of them are never averaged silently. Two within one cell: `a + b`."""

    spent: Spent = field(default_factory=Spent)
    """What all attempts used, as far as known."""

    planned: int = 0
    """Trials that were planned; fewer may have been carried out."""

    attempts: int = 0
    """All attempts, also the voided ones that were tried again."""

    unpriced: int = 0
    """Attempts whose cost nobody knows: where some is known, `spent.cost_usd` is a lower bound."""

    uncounted: int = 0
    """Attempts whose tokens nobody counted in full: where some are known, `spent.tokens` is a lower bound."""

    skip_reason: str | None = None
    """Why nothing of it was tried, if so."""

    branch: str | None = None
    """The branch it ran on."""

    dirty: bool | None = None
    """Whether there were uncommitted changes."""

    demeanor: str = ""
    """The version of Demeanor; empty for an import."""

    @property
    def judged(self) -> int:
        """How many trials count."""
        return self.passed + self.failed

    @property
    def missing(self) -> int:
        """Trials that were planned but not carried out."""
        return max(0, self.planned - self.judged - self.voided)


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptDecision:
    """A decision that was made, with what it was made from."""

    made: str
    """When: ISO 8601, UTC."""

    ruling: Ruling
    """What it was about."""

    eval: str
    """The eval's name; empty where it was about a whole run."""

    answer: str
    """What was decided: `accept`, `reject`, `undecided`, `promote`, `keep` …"""

    rule: str
    """The rule that was applied, by name."""

    reason: str = ""
    """Why, in a sentence with the numbers."""

    subject: str = ""
    """The subject, as `agent:model`; empty where it was about all of them."""

    run: str | None = None
    """The run that it was made for, by its name in the store."""

    commit: str | None = None
    """The commit that it was made at."""

    eval_hash: str = ""
    """The eval as it was then."""

    evidence: Mapping[str, object] = field(default_factory=dict)
    """The numbers it was made from, as JSON data."""
