"""The report of a run as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterator
from math import fsum

from demeanor.core.text import one_line, opening
from demeanor.core.usage import price_notes
from demeanor.render import numbers as figures
from demeanor.render.junit import JUnitCase, JUnitSuite, write_junit
from demeanor.reports.run import phrases as words
from demeanor.reports.run.failure_groups import Failure, failures, voids
from demeanor.reports.run.report import CellReport, RunReport

_REASON_LINES = 60


def junit(report: RunReport) -> str:
    """The report as JUnit XML: one suite per subject, one case per eval."""
    suites = (_suite(report, summary.subject) for summary in report.summaries)
    return write_junit(suites, seconds=report.seconds or 0)


def _suite(report: RunReport, subject: str) -> JUnitSuite:
    cells = report.of_subject(subject)
    return JUnitSuite(
        subject=subject,
        started=report.run.started,
        seconds=fsum(cell.tally.spent.seconds for cell in cells),
        cases=[_case(cell) for cell in cells],
    )


def _case(cell: CellReport) -> JUnitCase:
    found = cell.tally
    reasons = voids(cell) if cell.decision.answer == "undecided" else failures(cell)
    return JUnitCase(
        name=found.eval,
        seconds=found.spent.seconds,
        decision=cell.decision,
        properties=_properties(cell),
        failures=_reasons(reasons, cell),
        output=_reasons((*failures(cell), *voids(cell)), cell) if found.failed or found.voided else "",
        attributes={"file": cell.source, "line": str(cell.line)},
    )


def _properties(cell: CellReport) -> Iterator[tuple[str, str]]:
    found = cell.tally
    yield "status", words.status(cell)
    yield "policy", found.policy.value
    yield "layer", f"{cell.layer} ({words.LAYERS[cell.layer]})"
    yield "decision", f"{cell.decision.answer} ({cell.decision.rule}): {cell.decision.reason}"
    yield "trials", f"{found.passed} passed, {found.failed} failed, {found.voided} void, {found.missing} missing"
    yield "judged", f"{found.judged} of {found.planned}"
    yield "pass rate", figures.rate(found.rate)
    label = "" if found.estimator == "unbiased" else " (plug-in)"
    for k in found.pass_at:
        yield f"pass@{k}{label}", figures.percent(found.pass_at[k])
        yield f"pass^{k}{label}", figures.percent(found.pass_hat.get(k))
    yield "cost", figures.money(found.spent, found.unpriced)
    for note in price_notes(note for record in cell.records for note in record.notes):
        yield "cost note", note
    yield "tokens", figures.tokens(found.spent, found.uncounted)


def _reasons(found: tuple[Failure, ...], cell: CellReport) -> str:
    parts = []
    for failure in found:
        parts.append(f"{figures.trials(failure.numbers)}:\n{opening(failure.reason, lines=_REASON_LINES)}")
        parts += [f"calls: {one_line(chain, width=400)}" for chain in failure.chains if chain]
        parts.append(f"kept in: {one_line(failure.trials[0].folder, width=400)}")
    return "\n".join([*parts, f"again: {words.reproduce(cell)}"])
