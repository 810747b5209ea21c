"""The report of a run as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator

from demeanor.core.text.wording import one_line, opening
from demeanor.core.values.usage import price_notes
from demeanor.render import JUnitCase, numbers as figures, write_junit
from demeanor.reports.run import phrases as words
from demeanor.reports.run.failure_groups import Failure, failures, voids
from demeanor.reports.run.report import CellReport, RunReport

_REASON_LINES = 60


def junit_report(report: RunReport) -> str:
    """The report as JUnit XML: one suite per subject, one case per eval."""
    suites = [
        (summary.subject, [_case(cell) for cell in report.of_subject(summary.subject)]) for summary in report.summaries
    ]
    return write_junit(suites, started=report.run.started, seconds=report.seconds or 0)


def _case(cell: CellReport) -> JUnitCase:
    tally = cell.tally
    reasons = voids(cell) if cell.decision.answer == "undecided" else failures(cell)
    return JUnitCase(
        tally=tally,
        decision=cell.decision,
        status=words.status(cell),
        layer=f"{cell.layer} ({words.LAYERS[cell.layer]})",
        properties=_properties(cell),
        failures=_reasons(reasons, cell),
        output=_reasons((*failures(cell), *voids(cell)), cell) if tally.failed or tally.voided else "",
        attributes={"file": cell.source, "line": str(cell.line)},
    )


def _properties(cell: CellReport) -> Iterator[tuple[str, str]]:
    tally = cell.tally
    for k in tally.pass_at:
        at, hat = words.passes_of_k(cell, k)
        yield f"pass@{k}", at
        yield f"pass^{k}", hat
    yield "cost", figures.money(tally.spent, tally.unpriced)
    for note in price_notes(note for record in cell.records for note in record.notes):
        yield "cost note", note
    yield "tokens", figures.tokens(tally.spent, tally.uncounted)


def _reasons(failures: tuple[Failure, ...], cell: CellReport) -> str:
    parts = []
    for failure in failures:
        parts.append(f"{figures.trials(failure.numbers)}:\n{opening(failure.reason, lines=_REASON_LINES)}")
        parts += [f"calls: {one_line(chain, width=400)}" for chain in failure.chains if chain]
        parts.append(f"kept in: {one_line(failure.trials[0].folder, width=400)}")
    return "\n".join([*parts, f"again: {words.reproduce(cell)}"])
