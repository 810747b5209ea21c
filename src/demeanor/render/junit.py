"""JUnit XML: one suite per subject and one case per eval.

A case fails only if its decision is `reject`: tools that show JUnit reports mark every failed case, but a failed trial
that the policy tolerates is not a failure. An undecided eval is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from demeanor.core.tally import Decision
from demeanor.core.text import one_line, printable

_COUNTED = {"failures": "reject", "errors": "undecided", "skipped": "skipped"}


@dataclass(frozen=True, kw_only=True, slots=True)
class JUnitCase:
    """One eval with one subject."""

    name: str
    """The eval's name."""

    seconds: float
    """How long its attempts took together."""

    decision: Decision
    """Whether it failed, and why."""

    properties: Iterable[tuple[str, str]] = ()
    """Further facts, by name."""

    failures: str = ""
    """Why trials failed, or were void; shown with the failure or error."""

    output: str = ""
    """What is shown of an accepted eval that had failed or void trials."""

    attributes: Mapping[str, str] = field(default_factory=dict)
    """Further attributes, such as the file."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JUnitSuite:
    """One subject."""

    subject: str
    """The subject, as `agent:model`."""

    started: str
    """When the run started: ISO 8601."""

    seconds: float
    """How long all attempts took together."""

    cases: Sequence[JUnitCase]
    """Its evals."""


def write_junit(suites: Iterable[JUnitSuite], *, seconds: float | None = None) -> str:
    """The suites as JUnit XML."""
    root = Element("testsuites", name="demeanor")
    if seconds is not None:
        root.set("time", f"{seconds:.3f}")
    root.extend(_suite(suite) for suite in suites)
    for name in ("tests", *_COUNTED):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _suite(suite: JUnitSuite) -> Element:
    answers = [case.decision.answer for case in suite.cases]
    counts = {name: str(sum(found == answer for found in answers)) for name, answer in _COUNTED.items()}
    attributes = {"name": _attribute(suite.subject), "tests": str(len(answers)), **counts}
    attributes |= {"time": f"{suite.seconds:.3f}", "timestamp": _attribute(suite.started)}
    element = Element("testsuite", attributes)
    element.extend(_case(case, suite.subject) for case in suite.cases)
    return element


def _case(case: JUnitCase, subject: str) -> Element:
    attributes = {"classname": subject, "name": case.name, **case.attributes, "time": f"{case.seconds:.3f}"}
    element = Element("testcase", {name: _attribute(value) for name, value in attributes.items()})
    properties = SubElement(element, "properties")
    for name, value in case.properties:
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


def _attribute(text: str) -> str:
    return one_line(text, width=400)
