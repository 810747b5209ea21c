"""The nights of a project as a value: per subject one row per eval, this night and those before it.

What is missing stays missing: a night of which nothing can be said has no rate, and nights between which the subject or
the eval changed are marked and never put into one rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.evidence import Spent
from demeanor.core.history import PastRun
from demeanor.core.policy import Policy
from demeanor.core.record import RunInfo
from demeanor.core.run_diff import Part
from demeanor.core.tally import Decision, Estimate, Summary, Tally
from demeanor.render.documents import Document

NightState: TypeAlias = Literal["judged", "no data", "skipped", "absent"]
"""No data: only voids, or nothing carried out. Absent: not part of that run."""

Mark: TypeAlias = Literal["subject", "eval"]
"""What differs from the last night with data: the subject (agent, model, prompt, settings) or the eval itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightCell:
    """What one run found of one eval with one subject, as far as anything can be said."""

    state: NightState
    """Whether there is a rate, and if not, why."""

    passed: int = 0
    """Trials that passed."""

    failed: int = 0
    """Trials that failed."""

    voided: int = 0
    """Trials that could not be judged: in no rate."""

    missing: int = 0
    """Trials that were planned but not carried out."""

    rate: Estimate | None = None
    """The pass rate with its interval; None where nothing was judged."""

    marks: tuple[Mark, ...] = ()
    """What changed since the last night with data."""

    mixed: bool = False
    """Whether its own trials were of more than one subject or eval, which changed while it ran."""

    @property
    def judged(self) -> int:
        """How many trials count."""
        return self.passed + self.failed


ABSENT = NightCell(state="absent")


@dataclass(frozen=True, kw_only=True, slots=True)
class NightStep:
    """The change of a rate since the last night with data."""

    value: float
    """This night's rate minus that one's."""

    low: float
    """The lower end of its interval of 95 %."""

    high: float
    """The upper end."""

    since: str
    """The run that it is compared with."""

    alike: bool
    """False where the subject or the eval is not what it was then."""

    evals: int = 1
    """How many evals it is the mean of: those judged in both runs, and the same in both."""

    @property
    def clear(self) -> bool:
        """Whether it is more than chance explains, at 95 %."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Together:
    """The shown nights put into one rate: those since the last change of subject or eval."""

    rate: Estimate | None
    """The rate; None where nothing was judged."""

    nights: int
    """How many runs with judged trials it is of."""

    mark: Mark | None
    """Why earlier nights are left out: what was another one then; None where none are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightRow:
    """One eval with one subject."""

    eval: str
    """The eval's name."""

    policy: Policy
    """Its policy, this night's or the latest known."""

    cells: tuple[NightCell, ...]
    """One per run of the report, the oldest first; the last is this night's."""

    tally: Tally | None
    """This night's verdicts, counted; None where it was not part of this run."""

    decision: Decision | None
    """This night's tally held against the policy; None where it was not part of this run."""

    change: NightStep | None
    """Since the last night with data; None where there is nothing to compare."""

    together: Together
    """All shown nights that are of one thing."""

    @property
    def tonight(self) -> NightCell:
        """This night's cell."""
        return self.cells[-1]

    @property
    def marked(self) -> bool:
        """Whether anything changed within the shown nights."""
        return any(cell.marks or cell.mixed for cell in self.cells)


@dataclass(frozen=True, kw_only=True, slots=True)
class NightTotal:
    """All evals of one subject in one run."""

    rate: Estimate | None
    """The mean over evals with judged trials; None where there are none."""

    judged: int
    """How many evals have judged trials."""

    evals: int
    """How many evals were part of that run."""

    voided: int
    """Trials that could not be judged."""

    spent: Spent
    """What all attempts used, as far as known."""

    unpriced: int
    """Attempts whose cost nobody knows."""

    uncounted: int
    """Attempts whose tokens nobody counted in full."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightChange:
    """Something that became another thing from one night to the next."""

    run: str
    """The first run that differs."""

    part: Part
    """What changed."""

    before: str
    """What it was; empty where evals differ in it."""

    after: str
    """What it became; empty where evals differ in it."""

    evals: tuple[str, ...]
    """With which evals it was seen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectNights:
    """One subject: its evals, and all of them together."""

    subject: str
    """The subject, as `agent:model`."""

    rows: tuple[NightRow, ...]
    """One per eval, in the order of this night's plan; those that were not part of it last."""

    totals: tuple[NightTotal, ...]
    """One per run of the report, the oldest first."""

    change: NightStep | None
    """The mean change since the last night with data, eval by eval."""

    summary: Summary
    """This night, added up."""

    changes: tuple[NightChange, ...]
    """What changed within the shown nights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureMode:
    """One way in which trials failed, or were void."""

    reason: str
    """The findings that said no, or the cause of the void. Hostile text."""

    trials: tuple[int, ...]
    """The numbers of the trials."""

    chain: str
    """The tool calls of the first of them. Hostile text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailingCell:
    """An eval with one subject that did not pass all its trials, and why."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    ways: tuple[FailureMode, ...]
    """The ways in which it happened."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightReport:
    """One run, and the nights before it."""

    run: RunInfo
    """The run that is told of."""

    nights: tuple[PastRun, ...]
    """The runs of the columns, the oldest first; the last is this one."""

    subjects: tuple[SubjectNights, ...]
    """One per subject."""

    failures: tuple[FailingCell, ...] = ()
    """Evals that failed this night, the worst first; as many as were asked for."""

    more_failures: int = 0
    """How many more there are."""

    voids: tuple[FailingCell, ...] = ()
    """Evals with trials that could not be judged this night; as many as were asked for."""

    more_voids: int = 0
    """How many more there are."""

    notes: tuple[str, ...] = ()
    """What a person should know."""

    def row(self, name: str, subject: str) -> NightRow:
        """One row."""
        (found,) = (row for one in self.subjects if one.subject == subject for row in one.rows if row.eval == name)
        return found


NIGHTS_DOCUMENT = Document("nights", NightReport)
"""The JSON document of this report."""
