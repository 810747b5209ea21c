"""The night report as a page shows it: a verdict, cards of what needs attention, and a heat map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from demeanor.core.values.evidence import Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Estimate
from demeanor.core.values.usage import total
from demeanor.decide import EXPECTED
from demeanor.decide.nights import RateShift
from demeanor.render import numbers
from demeanor.reports.night import (
    BatchNights,
    NightCell,
    NightReport,
    NightRow,
    NightTotal,
    SubjectNights,
    phrases,
)
from demeanor.reports.run import POLICIES
from demeanor.web.charts import trend

MOST_CELLS = 480
"""Cells of the heat map, unless all are asked for."""

_LABELLED_CELLS = 200

_SIGNS = {"reject": "✗", "undecided": "?", "accept": "✓", "skipped": "·"}


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatCell:
    """One eval with one subject in the heat map."""

    subject: str
    """The subject."""

    text: str
    """`2/5`, or why there is no number."""

    kind: str
    """Its style: `good`, `bad`, `open`, `expected`, `news` or `none`."""

    sign: str = ""
    """✓ ✗ ? ★"""

    rate: Estimate | None = None
    """The rate with its interval."""

    voided: int = 0
    """Void trials."""

    marks: str = ""
    """◆ ◇"""

    reason: str = ""
    """Why it was decided so."""

    trend: Markup = field(default_factory=Markup)
    """The nights, oldest first."""

    ran: bool = False
    """Whether there are trials to look at."""

    run: str = ""
    """The run that has them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeatRow:
    """One eval in the heat map."""

    eval: str
    """The eval's name."""

    policy: str
    """Its policy in a word."""

    layer: int
    """The layer of the test pyramid: 3 for a whole task, otherwise 2."""

    cells: tuple[HeatCell | None, ...]
    """One per subject; None if it does not run with that subject."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectHead:
    """The heading of a column."""

    subject: str
    """The subject."""

    total: str
    """Its total pass rate."""

    evals: str
    """Over how many evals."""

    change: str
    """The change since the night before; empty if there is none."""

    clear: str
    """`bad` or `good` if the change is significant."""

    counts: str
    """Passed, failed and void trials."""

    used: str
    """Time, tokens and cost."""

    trend: Markup
    """The nights, oldest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BatchHead:
    """The total of all subjects."""

    title: str
    """`Both subjects`."""

    total: str
    """Its total pass rate, and over how many cells."""

    change: str
    """The change since the night before; empty if there is none."""

    trend: Markup
    """The nights, oldest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NightView:
    """Everything that the page of a night shows."""

    report: NightReport
    """The report."""

    title: str
    """`Night of 2026-11-16 01:00 UTC`."""

    verdict: str
    """`accepted`, `rejected` or `undecided`."""

    reason: str
    """The verdict's reason with the numbers."""

    facts: tuple[str, ...]
    """Run, commit, branch, version."""

    used: str
    """Time, tokens and cost of all subjects."""

    batch: BatchHead | None
    """The total of all subjects; None if there is only one."""

    layers: str
    """How many cells of each layer hold; empty if there are no whole tasks."""

    worse: tuple[RateShift, ...]
    """What got significantly worse."""

    better: tuple[RateShift, ...]
    """What got significantly better."""

    news: tuple[tuple[str, str, str], ...]
    """Eval, subject and reason where an eval that usually fails passed."""

    subjects: tuple[SubjectHead, ...]
    """The columns."""

    rows: tuple[HeatRow, ...]
    """The rows, those that need attention first."""

    evals: int
    """How many evals there are."""

    nights: str
    """Which nights are shown."""

    changes: tuple[tuple[str, str], ...]
    """What changed in subjects and evals."""

    legend: tuple[tuple[str, str], ...]
    """The marks that are used."""

    false_alarms: str
    """How many falls a week are no falls; empty if it is no night."""


def night_view(report: NightReport, *, whole: bool = False) -> NightView:
    """Arrange a report for a page; `whole`: with every eval, however many there are."""
    spent, unpriced, uncounted = _spent(report)
    rows = _rows(report)
    return NightView(
        report=report,
        title=phrases.title(report),
        verdict=report.verdict,
        reason=report.reason,
        facts=tuple(phrases.origin(report).split(" · ")),
        used=f"{numbers.duration(spent.seconds)} · {numbers.tokens_and_cost(spent, uncounted, unpriced)}",
        batch=_batch_head(report, report.batch) if report.batch is not None else None,
        layers=phrases.layers(report) or "",
        worse=report.worse,
        better=report.better,
        news=report.news,
        subjects=tuple(_head(subject) for subject in report.subjects),
        rows=tuple(rows if whole else rows[: max(20, MOST_CELLS // max(1, len(report.subjects)))]),
        evals=len(rows),
        nights=phrases.history(report, ordered=False),
        changes=tuple(phrases.changes(report)),
        legend=(
            *((mark, phrases.LEGEND[mark]) for mark in phrases.used_marks(report)),
            *(((phrases.EXPECTED_FAIL, EXPECTED),) if phrases.expected_fails(report) else ()),
        ),
        false_alarms=phrases.false_alarms(report),
    )


def _spent(report: NightReport) -> tuple[Spent, int, int]:
    now = [subject.totals[-1] for subject in report.subjects]
    spent, _, _ = total(night_total.spent for night_total in now)
    return spent, sum(night_total.unpriced for night_total in now), sum(night_total.uncounted for night_total in now)


def _rows(report: NightReport) -> list[HeatRow]:
    """One row per eval, those that need attention first; otherwise in the order of the plan."""
    by_eval: dict[str, dict[str, NightRow]] = {}
    for subject in report.subjects:
        for row in subject.rows:
            by_eval.setdefault(row.eval, {})[subject.subject] = row
    names = [subject.subject for subject in report.subjects]
    labelled = len(by_eval) * len(names) <= _LABELLED_CELLS
    ranked = sorted(by_eval.items(), key=lambda item: min(_rank(row) for row in item[1].values()))
    return [_heat_row(name, own, names, labelled=labelled) for name, own in ranked]


def _rank(row: NightRow) -> int:
    """0 for what was rejected, then undecided, news, significant changes, failures, the rest, what did not run."""
    if row.decision is None:
        return 6
    if row.decision.answer in {"reject", "undecided"}:
        return 0 if row.decision.answer == "reject" else 1
    if row.decision.news:
        return 2
    if row.change is not None and row.change.clear:
        return 3
    return 4 if row.tonight.failed and row.policy is not Policy.USUALLY_FAILS else 5


def _heat_row(name: str, own: dict[str, NightRow], subjects: Sequence[str], *, labelled: bool) -> HeatRow:
    return HeatRow(
        eval=name,
        policy=POLICIES[next(iter(own.values())).policy],
        layer=next(iter(own.values())).layer,
        cells=tuple(
            _heat_cell(own[subject], subject, labelled=labelled) if subject in own else None for subject in subjects
        ),
    )


def _heat_cell(row: NightRow, subject: str, *, labelled: bool) -> HeatCell:
    now = row.tonight
    sign = ""
    if row.decision:
        sign = "★" if row.decision.news else _SIGNS.get(row.decision.answer, "")
    return HeatCell(
        subject=subject,
        text=f"{now.passed}/{now.judged}" if now.judged else phrases.state(now),
        kind=_kind(row),
        sign=sign,
        rate=now.rate,
        voided=now.voided,
        marks=phrases.marks_of(now),
        reason=row.decision.reason if row.decision else "not part of this run",
        trend=_trend(row.cells, labelled=labelled),
        ran=bool(now.judged or now.voided),
        run=row.run,
    )


def _kind(row: NightRow) -> str:
    if row.decision is None or row.decision.answer == "skipped":
        return "none"
    if row.decision.news:
        return "news"
    if row.policy is Policy.USUALLY_FAILS:
        return "expected" if row.tonight.judged else "open"
    return {"reject": "bad", "undecided": "open"}.get(
        row.decision.answer, "good" if not row.tonight.failed else "mixed"
    )


def _trend(cells: Iterable[NightCell], *, labelled: bool) -> Markup:
    shown = list(cells)
    if len(shown) < 2:
        return Markup()
    rates = [cell.rate.value if cell.rate else None for cell in shown]
    return trend(rates, [phrases.marks_of(cell) for cell in shown], labelled=labelled)


def _head(nights: SubjectNights) -> SubjectHead:
    step, bad = nights.change, phrases.known_bad(nights.totals[-1])
    clear = ""
    if step is not None and step.clear:
        clear = "bad" if step.value < 0 else "good"
    return SubjectHead(
        subject=nights.subject,
        total=numbers.rate(nights.totals[-1].rate) if nights.totals[-1].rate else "no data",
        evals=phrases.evals(nights.totals[-1]) + (f"; known to fail: {bad}" if bad else ""),
        change=f"{phrases.points_with_interval(step)} points" if step is not None else "",
        clear=clear,
        counts=phrases.counts(nights),
        used=phrases.used(nights.totals[-1]),
        trend=_totals_trend(nights.totals),
    )


def _batch_head(report: NightReport, batch: BatchNights) -> BatchHead:
    return BatchHead(
        title=phrases.batch(report),
        total=phrases.total(batch),
        change=phrases.compared(batch),
        trend=_totals_trend(batch.totals),
    )


def _totals_trend(totals: Sequence[NightTotal]) -> Markup:
    if len(totals) < 2:
        return Markup()
    return trend([total.rate.value if total.rate else None for total in totals])
