"""The night report as JUnit XML: one case per eval and subject, which fails exactly where the decision is reject.

What was not part of the run is no case, so that nothing counts as passed that was not tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from demeanor.commands.report import phrases as night_words
from demeanor.commands.report.report import FailingCell, NightReport, NightRow, SubjectNights
from demeanor.core.text import one_line, opening, printable
from demeanor.render import numbers as figures

_REASON_LINES = 60
_ATTRIBUTES = {"failures": "reject", "errors": "undecided", "skipped": "skipped"}


def night_junit(report: NightReport) -> str:
    """One suite per subject."""
    root = Element("testsuites", name="demeanor")
    for one in report.subjects:
        root.append(_suite(report, one))
    for name in ("tests", *_ATTRIBUTES):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(report: NightReport, one: SubjectNights) -> Element:
    rows = [row for row in one.rows if row.decision is not None]
    answers = [row.decision.answer for row in rows if row.decision]
    suite = Element(
        "testsuite",
        name=_attribute(one.subject),
        tests=str(len(rows)),
        time=f"{one.totals[-1].spent.seconds:.3f}",
        timestamp=_attribute(report.run.started),
    )
    for name, answer in _ATTRIBUTES.items():
        suite.set(name, str(answers.count(answer)))  # type: ignore[arg-type]
    suite.extend(_case(report, row, one.subject) for row in rows)
    return suite


def _case(report: NightReport, row: NightRow, subject: str) -> Element:
    tally, decision = row.tally, row.decision
    seconds = tally.spent.seconds if tally else 0.0
    case = Element("testcase", classname=_attribute(subject), name=_attribute(row.eval), time=f"{seconds:.3f}")
    properties = SubElement(case, "properties")
    for name, value in _properties(report, row):
        SubElement(properties, "property", name=name, value=_attribute(value))
    if decision is None:
        return case
    reason = _attribute(decision.reason)
    if decision.answer == "reject":
        SubElement(case, "failure", message=reason, type=decision.rule).text = _told(report.failures, row, subject)
    elif decision.answer == "undecided":
        SubElement(case, "error", message=reason, type="void").text = _told(report.voids, row, subject)
    elif decision.answer == "skipped":
        SubElement(case, "skipped", message=reason)
    return case


def _properties(report: NightReport, row: NightRow) -> Iterator[tuple[str, str]]:
    now = row.tonight
    yield "status", night_words.status(row)
    yield "policy", row.policy.value
    yield "trials", f"{now.passed} passed, {now.failed} failed, {now.voided} void, {now.missing} not carried out"
    yield "pass rate", figures.rate(now.rate)
    yield "change", night_words.points_with_interval(row.change)
    yield "together", night_words.together(row)
    for night, cell in zip(report.nights[:-1], row.cells[:-1], strict=True):
        yield f"night {one_line(night.name)}", figures.rate(cell.rate) if cell.rate else night_words.state(cell)
    yield from night_words.spending(row).items()


def _told(found: tuple[FailingCell, ...], row: NightRow, subject: str) -> str:
    own = [one for one in found if one.eval == row.eval and one.subject == subject]
    parts = [
        f"{figures.trials(list(way.trials))}:\n{opening(way.reason, lines=_REASON_LINES)}\n"
        f"calls: {one_line(way.chain, width=400) or 'none'}"
        for one in own
        for way in one.ways
    ]
    return printable("\n".join(parts) or "the reasons are not among those that were asked for (--details)")


def _attribute(text: str) -> str:
    return one_line(text, width=400)
