"""JUnit XML, for whatever shows test results.

One test case per cell, not per trial: such tools paint every failed case red, while a fail within what the policy
tolerates is no reason to stop anyone. So a case fails exactly where the decision is reject; a cell without a verdict
is an error, and the trials are told in the case's output.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from demeanor.commands.run import phrases as words
from demeanor.commands.run.failure_groups import Failure, failures, voids
from demeanor.commands.run.report import CellReport, RunReport
from demeanor.core.text import one_line, opening, printable
from demeanor.render import numbers as figures

_REASON_LINES = 60


def junit(report: RunReport) -> str:
    """The report as JUnit XML: one suite per subject."""
    root = Element("testsuites", name="demeanor", time=f"{report.seconds or 0:.3f}")
    for summary in report.summaries:
        root.append(_suite(report, summary.subject, report.of_subject(summary.subject)))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(report: RunReport, subject: str, cells: list[CellReport]) -> Element:
    answers = [cell.decision.answer for cell in cells]
    suite = Element(
        "testsuite",
        name=_attribute(subject),
        tests=str(len(cells)),
        failures=str(answers.count("reject")),
        errors=str(answers.count("undecided")),
        skipped=str(answers.count("skipped")),
        time=f"{sum(cell.tally.spent.seconds for cell in cells):.3f}",
        timestamp=_attribute(report.run.started),
    )
    suite.extend(_case(cell) for cell in cells)
    return suite


def _case(cell: CellReport) -> Element:
    found = cell.tally
    case = Element(
        "testcase",
        classname=_attribute(found.subject),
        name=_attribute(found.eval),
        file=_attribute(cell.source),
        line=str(cell.line),
        time=f"{found.spent.seconds:.3f}",
    )
    properties = SubElement(case, "properties")
    for name, value in _properties(cell):
        SubElement(properties, "property", name=name, value=_attribute(value))
    reason = _attribute(cell.decision.reason)
    if cell.decision.answer == "reject":
        SubElement(case, "failure", message=reason, type=cell.decision.rule).text = _told(failures(cell), cell)
    elif cell.decision.answer == "undecided":
        SubElement(case, "error", message=reason, type="void").text = _told(voids(cell), cell)
    elif cell.decision.answer == "skipped":
        SubElement(case, "skipped", message=reason)
    elif found.failed or found.voided:
        SubElement(case, "system-out").text = _told((*failures(cell), *voids(cell)), cell)
    return case


def _properties(cell: CellReport) -> Iterator[tuple[str, str]]:
    found = cell.tally
    yield "status", words.status(cell)
    yield "policy", found.policy.value
    yield "decision", f"{cell.decision.answer} ({cell.decision.rule}): {cell.decision.reason}"
    yield "trials", f"{found.passed} passed, {found.failed} failed, {found.voided} void, {found.missing} missing"
    yield "pass rate", figures.rate(found.rate)
    label = "" if found.estimator == "unbiased" else " (plug-in)"
    for k in found.pass_at:
        yield f"pass@{k}{label}", figures.percent(found.pass_at[k])
        yield f"pass^{k}{label}", figures.percent(found.pass_hat.get(k))
    yield "cost", figures.money(found.spent, found.unpriced)
    yield "tokens", figures.tokens(found.spent, found.uncounted)


def _told(found: tuple[Failure, ...], cell: CellReport) -> str:
    parts = []
    for failure in found:
        parts.append(f"{figures.trials(failure.numbers)}:\n{opening(failure.reason, lines=_REASON_LINES)}")
        parts += [f"calls: {one_line(chain, width=400)}" for chain in failure.chains if chain]
        parts.append(f"kept in: {one_line(failure.trials[0].folder, width=400)}")
    return printable("\n".join([*parts, f"again: {' '.join(words.reproduce(cell))}"]))


def _attribute(text: str) -> str:
    return one_line(text, width=400)
