"""The night report as JUnit XML.

Evals that are not part of the run, and need not be, are left out, so that nothing is shown as passed that was not run.
"""

from __future__ import annotations

from collections.abc import Iterator

from demeanor.core.text.wording import one_line, opening
from demeanor.core.values.tally import Tally
from demeanor.render import JUnitCase, numbers, write_junit
from demeanor.reports.night import phrases
from demeanor.reports.night.report import FailingCell, NightReport, NightRow, SubjectNights
from demeanor.reports.run import LAYERS

_REASON_LINES = 60
_NO_DETAILS = "the reasons are left out: this eval is not among the first --details failures"


def night_junit(report: NightReport) -> str:
    """The report as JUnit XML: one suite per subject, one case per eval."""
    suites = [(nights.subject, list(_cases(report, nights))) for nights in report.subjects]
    return write_junit(suites, started=report.run.started)


def _cases(report: NightReport, subject: SubjectNights) -> Iterator[JUnitCase]:
    for row in subject.rows:
        if row.decision is None:
            continue
        failing = report.voids if row.decision.answer == "undecided" else report.failures
        yield JUnitCase(
            tally=row.tally or Tally(eval=row.eval, subject=subject.subject, policy=row.policy),
            decision=row.decision,
            status=phrases.status(row),
            layer=f"{row.layer} ({LAYERS[row.layer]})",
            properties=_properties(report, row),
            failures=_reasons(report, failing, row, subject.subject),
        )


def _properties(report: NightReport, row: NightRow) -> Iterator[tuple[str, str]]:
    yield "change", phrases.points_with_interval(row.change)
    yield "together", phrases.together(row)
    for night, cell in zip(report.nights[:-1], row.cells[:-1], strict=True):
        yield f"night {one_line(night.name)}", numbers.rate(cell.rate) if cell.rate else phrases.state(cell)
    yield from phrases.spending(row).items()


def _reasons(report: NightReport, failing: tuple[FailingCell, ...], row: NightRow, subject: str) -> str:
    parts = [
        f"{phrases.trials(report, mode)}:\n{opening(mode.reason, lines=_REASON_LINES)}\n"
        f"calls: {one_line(mode.chain, width=400) or 'none'}"
        for cell in failing
        if cell.eval == row.eval and cell.subject == subject
        for mode in cell.ways
    ]
    return "\n".join(parts) or _NO_DETAILS
