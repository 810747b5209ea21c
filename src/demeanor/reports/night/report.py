"""The night report, as a value: one row per subject and eval, with this run and the nights before it.

A night without data has no rate. Changes of the subject or the eval are marked; nights before and after an edit of the
eval or another model are never combined into one rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from demeanor.core.values.evidence import Spent
from demeanor.core.values.history import Night
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import RunInfo
from demeanor.core.values.run_diff import Part
from demeanor.core.values.tally import Decision, Estimate, Summary, Tally
from demeanor.decide.nights import RateShift
from demeanor.render import ReportDocument

NightState: TypeAlias = Literal["judged", "no data", "skipped", "absent"]
"""No data: only voids, or no trials. Absent: not part of that run."""

Mark: TypeAlias = Literal["subject", "model", "eval"]
"""What differs from the last night with data: the subject (agent, prompt, settings), its model, or the eval itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightCell:
    """The results of one eval with one subject in one run."""

    state: NightState
    """Whether there is a rate, or why not."""

    passed: int = 0
    """Trials that passed."""

    failed: int = 0
    """Trials that failed."""

    voided: int = 0
    """Void trials, which don't count."""

    missing: int = 0
    """Trials that were planned but not run."""

    rate: Estimate | None = None
    """The pass rate with its interval; None without judged trials."""

    marks: tuple[Mark, ...] = ()
    """What changed since the last night with data."""

    mixed: bool = False
    """Whether the subject or the eval changed during the run."""

    @property
    def judged(self) -> int:
        """Trials that passed or failed."""
        return self.passed + self.failed

    @property
    def restarts(self) -> bool:
        """Whether its rate belongs to another eval or model than those before it."""
        return "eval" in self.marks or "model" in self.marks


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
    """The run to compare with."""

    alike: bool
    """False if the subject or the eval changed since then."""

    clear: bool
    """Whether it is significant at 95 %, corrected for the number of changes in the report."""

    evals: int = 1
    """The number of evals in the mean: those judged in both runs and not edited."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Together:
    """The combined rate of the shown nights since the eval was edited or the model changed."""

    rate: Estimate | None
    """The rate; None without judged trials."""

    nights: int
    """The number of runs with judged trials."""

    mark: Mark | None
    """What changed, if earlier nights are left out; otherwise None."""

    mixed: bool = False
    """Whether it combines different versions of the subject."""


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
    """The tally of this run; None if the eval was not part of it."""

    decision: Decision | None
    """The decision of this run; None if the eval was not part of it, and need not be."""

    change: NightStep | None
    """The change since the last night with data; None if there is none."""

    together: Together
    """The shown nights since the last change, combined."""

    layer: int = 2
    """The layer of the test pyramid: 3 for a whole task, otherwise 2."""

    run: str = ""
    """The run that has this night's trials; the last one of several."""

    @property
    def tonight(self) -> NightCell:
        """This night's cell."""
        return self.cells[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class NightTotal:
    """All evals of one subject in one run, or all cells of the run: `evals` and `judged` count those then."""

    rate: Estimate | None
    """The mean over evals with judged trials, without USUALLY_FAILS; None without any."""

    judged: int
    """The number of evals in the mean."""

    known_bad: int
    """USUALLY_FAILS evals with judged trials, which are not part of the mean."""

    known_bad_rate: Estimate | None
    """The mean pass rate of those; None if there are none."""

    evals: int
    """Evals that were part of that run."""

    voided: int
    """Trials that could not be judged."""

    spent: Spent
    """What all attempts used, as far as known."""

    unpriced: int
    """Attempts with unknown cost."""

    uncounted: int
    """Attempts with incomplete token counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightChange:
    """A change of the subject or the eval between two nights."""

    run: str
    """The first run that differs."""

    part: Part
    """What changed."""

    before: str
    """The value before; empty if it differs between evals."""

    after: str
    """The value after; empty if it differs between evals."""

    evals: tuple[str, ...]
    """The evals with this change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectNights:
    """One subject: its evals and its totals."""

    subject: str
    """The subject, as `agent:model`."""

    rows: tuple[NightRow, ...]
    """One per eval, in the order of this night's plan; those that were not part of it last."""

    totals: tuple[NightTotal, ...]
    """One per run of the report, the oldest first."""

    change: NightStep | None
    """The mean change since the last night with data, eval by eval."""

    summary: Summary
    """The summary of this run."""

    changes: tuple[NightChange, ...]
    """What changed within the shown nights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchNights:
    """All cells together: every eval with every subject."""

    totals: tuple[NightTotal, ...]
    """One per run of the report, the oldest first."""

    change: NightStep | None
    """The mean change since the last night with data, cell by cell."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureMode:
    """One way in which trials failed, or were void."""

    reason: str
    """The failed findings, or the cause of the void. Untrusted text."""

    trials: tuple[int, ...]
    """The numbers of the trials."""

    chain: str
    """The tool calls of the first of them. Untrusted text."""

    run: str = ""
    """The run of these trials."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailingCell:
    """An eval with one subject that did not pass all its trials, and why."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    ways: tuple[FailureMode, ...]
    """The failure modes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class VoidCount:
    """How many trials of the run are void for one cause."""

    cause: str
    """The cause, by name."""

    trials: int
    """The number of trials."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NearPromotion:
    """An eval that is ready for promotion, or needs only a few further nights."""

    eval: str
    """The eval's name."""

    ready: bool
    """Whether it needs no further night."""

    reason: str
    """Why it is ready, or what it needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightReport:
    """One night or run, and the nights before it."""

    run: RunInfo
    """The run; of a night, its last one."""

    verdict: Literal["accepted", "rejected", "undecided"]
    """The verdict on the whole night or run."""

    reason: str
    """Its reason, with the numbers."""

    nights: tuple[Night, ...]
    """The nights of the columns, the oldest first; the last is this one."""

    subjects: tuple[SubjectNights, ...]
    """One per subject."""

    batch: BatchNights | None = None
    """All subjects together; None if there is only one."""

    shifts: tuple[RateShift, ...] = ()
    """What got worse or better within the shown nights, the largest change first."""

    void_causes: tuple[VoidCount, ...] = ()
    """Why trials of this run are void, the most frequent cause first."""

    near: tuple[NearPromotion, ...] = ()
    """The evals that are near their promotion, those that are ready first."""

    failures: tuple[FailingCell, ...] = ()
    """Evals that failed in this run, the worst first; limited by --details."""

    more_failures: int = 0
    """The number of further ones."""

    voids: tuple[FailingCell, ...] = ()
    """Evals with void trials in this run; limited by --details."""

    more_voids: int = 0
    """The number of further ones."""

    notes: tuple[str, ...] = ()
    """Warnings and remarks."""

    false_alarms: float = 0.0
    """How many falls of its evals to expect in a week, at most, although no rate changes."""

    @property
    def worse(self) -> tuple[RateShift, ...]:
        """What got worse."""
        return tuple(shift for shift in self.shifts if shift.fell)

    @property
    def better(self) -> tuple[RateShift, ...]:
        """What got better."""
        return tuple(shift for shift in self.shifts if not shift.fell)

    @property
    def news(self) -> tuple[tuple[str, str, str], ...]:
        """Eval, subject and reason where an eval that usually fails passed."""
        return tuple(
            (row.eval, nights.subject, row.decision.reason)
            for nights in self.subjects
            for row in nights.rows
            if row.decision is not None and row.decision.news
        )

    def row(self, name: str, subject: str) -> NightRow:
        """One row."""
        (row,) = (
            row for nights in self.subjects if nights.subject == subject for row in nights.rows if row.eval == name
        )
        return row


NIGHTS_DOCUMENT = ReportDocument("nights", NightReport)
"""The JSON document of this report."""
