"""The night report as JUnit XML.

Evals that are not part of the run are left out, so that nothing is shown as passed that was not run.
"""

from __future__ import annotations

from collections.abc import Iterator

from demeanor.core.tally import Decision
from demeanor.core.text import one_line, opening
from demeanor.render import numbers
from demeanor.render.junit import JUnitCase, JUnitSuite, write_junit
from demeanor.reports.night import phrases
from demeanor.reports.night.report import FailingCell, NightReport, NightRow, SubjectNights
from demeanor.reports.run.phrases import LAYERS

_REASON_LINES = 60
_NO_DETAILS = "the reasons are left out: this eval is not among the first --details failures"


def night_junit(report: NightReport) -> str:
    """The report as JUnit XML: one suite per subject, one case per eval."""
    return write_junit(_suite(report, subject) for subject in report.subjects)


def _suite(report: NightReport, subject: SubjectNights) -> JUnitSuite:
    return JUnitSuite(
        subject=subject.subject,
        started=report.run.started,
        seconds=subject.totals[-1].spent.seconds,
        cases=[_case(report, row, row.decision, subject.subject) for row in subject.rows if row.decision],
    )


def _case(report: NightReport, row: NightRow, decision: Decision, subject: str) -> JUnitCase:
    failing = report.voids if decision.answer == "undecided" else report.failures
    return JUnitCase(
        name=row.eval,
        seconds=row.tally.spent.seconds if row.tally else 0.0,
        decision=decision,
        properties=_properties(report, row),
        failures=_reasons(failing, row, subject),
    )


def _properties(report: NightReport, row: NightRow) -> Iterator[tuple[str, str]]:
    now = row.tonight
    yield "status", phrases.status(row)
    yield "policy", row.policy.value
    yield "layer", f"{row.layer} ({LAYERS[row.layer]})"
    if row.decision is not None:
        yield "decision", f"{row.decision.answer} ({row.decision.rule}): {row.decision.reason}"
    yield "trials", f"{now.passed} passed, {now.failed} failed, {now.voided} void, {now.missing} not carried out"
    yield "judged", f"{now.judged} of {now.judged + now.voided + now.missing}"
    yield "pass rate", numbers.rate(now.rate)
    yield "change", phrases.points_with_interval(row.change)
    yield "together", phrases.together(row)
    for night, cell in zip(report.nights[:-1], row.cells[:-1], strict=True):
        yield f"night {one_line(night.name)}", numbers.rate(cell.rate) if cell.rate else phrases.state(cell)
    yield from phrases.spending(row).items()


def _reasons(failing: tuple[FailingCell, ...], row: NightRow, subject: str) -> str:
    parts = [
        f"{numbers.trials(list(mode.trials))}:\n{opening(mode.reason, lines=_REASON_LINES)}\n"
        f"calls: {one_line(mode.chain, width=400) or 'none'}"
        for cell in failing
        if cell.eval == row.eval and cell.subject == subject
        for mode in cell.ways
    ]
    return "\n".join(parts) or _NO_DETAILS
