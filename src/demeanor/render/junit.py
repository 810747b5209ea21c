"""JUnit XML: one suite per subject and one case per eval.

A case fails only if its decision is `reject`: tools that show JUnit reports mark every failed case, but a failed trial
that the policy tolerates is not a failure. An undecided eval is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from demeanor.core.text.wording import one_line, printable
from demeanor.core.values.tally import Decision, Tally
from demeanor.render.numbers import rate

_COUNTED = {"failures": "reject", "errors": "undecided", "skipped": "skipped"}


@dataclass(frozen=True, kw_only=True, slots=True)
class JUnitCase:
    """One eval with one subject."""

    tally: Tally
    decision: Decision
    status: str
    """Its status in a word or two."""
    layer: str
    properties: Iterable[tuple[str, str]] = ()
    """Further facts, by name."""
    failures: str = ""
    """Why trials failed, or were void; shown with the failure or error."""
    output: str = ""
    """What is shown of an accepted eval that had failed or void trials."""
    attributes: Mapping[str, str] = field(default_factory=dict)
    """Further attributes, such as the file."""


def write_junit(
    suites: Iterable[tuple[str, Sequence[JUnitCase]]], *, started: str, seconds: float | None = None
) -> str:
    """The cases of each subject as JUnit XML."""
    root = Element("testsuites", name="demeanor")
    if seconds is not None:
        root.set("time", f"{seconds:.3f}")
    root.extend(_suite(subject, cases, started) for subject, cases in suites)
    for name in ("tests", *_COUNTED):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(subject: str, cases: Sequence[JUnitCase], started: str) -> Element:
    counts = {name: str(sum(case.decision.answer == answer for case in cases)) for name, answer in _COUNTED.items()}
    attributes = {"name": _attribute(subject), "tests": str(len(cases)), **counts}
    seconds = fsum(case.tally.spent.seconds for case in cases)
    attributes |= {"time": f"{seconds:.3f}", "timestamp": _attribute(started)}
    element = Element("testsuite", attributes)
    element.extend(_case(case, subject) for case in cases)
    return element


def _case(case: JUnitCase, subject: str) -> Element:
    attributes = {"classname": subject, "name": case.tally.eval, **case.attributes}
    attributes["time"] = f"{case.tally.spent.seconds:.3f}"
    element = Element("testcase", {name: _attribute(value) for name, value in attributes.items()})
    properties = SubElement(element, "properties")
    for name, value in (*_counts(case), *case.properties):
        SubElement(properties, "property", name=name, value=_attribute(value))
    answer, reason = case.decision.answer, _attribute(case.decision.reason)
    if answer == "reject":
        SubElement(element, "failure", message=reason, type=case.decision.rule).text = printable(case.failures)
    elif answer == "undecided":
        SubElement(element, "error", message=reason, type="void").text = printable(case.failures)
    elif answer == "skipped":
        SubElement(element, "skipped", message=reason)
    elif case.output:
        SubElement(element, "system-out").text = printable(case.output)
    return element


def _counts(case: JUnitCase) -> Iterator[tuple[str, str]]:
    tally, decision = case.tally, case.decision
    yield "status", case.status
    yield "policy", tally.policy.value
    yield "layer", case.layer
    yield "decision", f"{decision.answer} ({decision.rule}): {decision.reason}"
    yield "trials", f"{tally.passed} passed, {tally.failed} failed, {tally.voided} void, {tally.missing} missing"
    yield "judged", f"{tally.judged} of {tally.planned}"
    yield "pass rate", rate(tally.rate)


def _attribute(text: str) -> str:
    return one_line(text, width=400)
