"""The results of earlier runs, counted: the input of reports over time and of decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from demeanor.core.values.evidence import Spent
from demeanor.core.values.exchange import Usage
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import RunInfo, RunKind

Ruling: TypeAlias = Literal["run", "gate", "promote", "demote", "compare", "bisect", "check-in", "calibrate", "recheck"]
"""The kind of a decision. Those of a `run` follow from its records, so they are told to hooks but not stored."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PastRun:
    """A stored run, from this or another machine."""

    info: RunInfo
    """Its metadata; the `id` is the run's unique name in the store."""

    origin: str = "demeanor"
    """`demeanor`, or the format that it was imported from."""

    source: str = ""
    """The folder or file that it was read from, as HOST:PATH."""

    cells: int = 0
    """The number of cells, including skipped ones."""

    @property
    def name(self) -> str:
        """The run's name in the store."""
        return self.info.id

    @property
    def path(self) -> Path:
        """The path of its source, on the machine that it is on."""
        return Path(self.source if self.source.startswith("/") else self.source.partition(":")[2])


@dataclass(frozen=True, kw_only=True, slots=True)
class Night:
    """What ran in one night, however many runs it took; or a single run that is not a nightly one."""

    runs: tuple[PastRun, ...]
    """Its runs, oldest first; the last one stands for it."""

    @property
    def name(self) -> str:
        """The name of its last run."""
        return self.runs[-1].name

    @property
    def info(self) -> RunInfo:
        """The metadata of its last run."""
        return self.runs[-1].info

    @property
    def origin(self) -> str:
        """Where its last run comes from."""
        return self.runs[-1].origin

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its runs."""
        return tuple(run.name for run in self.runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCell:
    """The result of one run, or of one night, for one eval and one subject."""

    run: str
    """The run's name in the store; for a night, that of its last run."""

    started: str
    """When the run started: ISO 8601, UTC."""

    kind: RunKind
    """Where the run took place: `local`, `ci` or `nightly`."""

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
    """Trials without a verdict after all attempts."""

    skipped: bool = False
    """Whether the cell was skipped on purpose."""

    commit: str | None = None
    """The commit of the repository it ran in."""

    eval_hash: str = ""
    """Changes when the eval does."""

    prompt_hash: str | None = None
    """Changes when the system prompt, the tools or the sampling settings do; None if nothing was sent."""

    agent_version: str | None = None
    """The version that the agent reported."""

    fingerprint: str = ""
    """Changes when the subject does; different ones are never averaged silently. Two within one cell: `a + b`."""

    model_hash: str = ""
    """Changes with what answers as model; empty if that is unknown, or if no model is asked."""

    spent: Spent = field(default_factory=Spent)
    """What all attempts used, as far as it is known."""

    planned: int = 0
    """Planned trials; fewer may have run."""

    attempts: int = 0
    """All attempts, including voided ones that were retried."""

    unpriced: int = 0
    """Attempts of unknown cost. If there are any, `spent.cost_usd` is a lower bound."""

    uncounted: int = 0
    """Attempts whose tokens were not all counted. If there are any, `spent.tokens` is a lower bound."""

    skip_reason: str | None = None
    """Why the cell was skipped, if it was."""

    branch: str | None = None
    """The branch it ran on."""

    dirty: bool | None = None
    """Whether there were uncommitted changes."""

    demeanor: str = ""
    """The version of Demeanor; empty for an import."""

    layer: int = 2
    """The layer of the test pyramid: 3 for a whole task, otherwise 2."""

    runs: tuple[str, ...] = ()
    """The runs of a night that had this cell, oldest first; empty for the cell of a run."""

    @property
    def source(self) -> str:
        """The last run that has its trials."""
        return self.runs[-1] if self.runs else self.run

    @property
    def judged(self) -> int:
        """The number of trials with a verdict of pass or fail."""
        return self.passed + self.failed

    @property
    def missing(self) -> int:
        """Planned trials that did not run."""
        return max(0, self.planned - self.judged - self.voided)


@dataclass(frozen=True, kw_only=True, slots=True)
class CapturedTrial:
    """A trial of a stored run, by its capture: two trials with the same capture are one."""

    run: str
    eval: str
    subject: str

    capture_hash: str
    """SHA-256 of its capture."""

    outcome: str
    """`pass`, `fail` or `void`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelUse:
    """What one stored exchange used."""

    model: str
    """The model that answered, or that was requested."""

    usage: Usage
    """Its tokens."""

    cost_usd: float | None
    """What it cost at the time; None if that is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeptDecision:
    """A stored decision with the numbers behind it."""

    made: str
    """When it was made: ISO 8601, UTC."""

    ruling: Ruling
    """The kind of decision."""

    eval: str
    """The eval's name; empty for a decision about a whole run."""

    answer: str
    """The decision: `accept`, `reject`, `undecided`, `promote`, `keep` …"""

    rule: str
    """The name of the rule that was applied."""

    reason: str = ""
    """The reason, in a sentence with the numbers."""

    subject: str = ""
    """The subject, as `agent:model`; empty for a decision about all subjects."""

    run: str | None = None
    """The name of its run in the store."""

    commit: str | None = None
    """The commit that was checked out."""

    eval_hash: str = ""
    """The eval's hash at the time."""

    evidence: Mapping[str, object] = field(default_factory=dict)
    """The numbers behind it, as JSON data."""
