from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree.ElementTree import Element, fromstring

from demeanor.core.values.trial import Cell
from demeanor.core.values.verdict import Fail, Finding, Pass, Void, VoidCause
from demeanor.reports.run.junit import junit_report
from demeanor.reports.run.report import RunReport

GOLDEN = Path(__file__).parents[1] / "golden"
NO = Fail(findings=(Finding(check="c", answer="no", reason="no file"),))
VOID = Void(cause=VoidCause.AUTH, detail="the provider refused the key")


def read(report: RunReport) -> Element:
    return fromstring(junit_report(report).encode())  # noqa: S314 - our own


def case(root: Element, name: str) -> Element:
    found = root.find(f".//testcase[@name='{name}']")
    assert found is not None
    return found


def test_the_file_matches_its_golden_file(mixed: RunReport, golden: Callable[[Path, str], None]) -> None:
    """One suite per subject, one case per eval."""
    golden(GOLDEN / "junit.xml", junit_report(mixed))


def test_the_counts_are_those_of_the_decisions(mixed: RunReport) -> None:
    """At the top and in each suite."""
    root = read(mixed)
    found = [[part.get(name) for name in ("tests", "failures", "errors", "skipped")] for part in (root, *root)]
    assert found == [["11", "2", "1", "1"], ["9", "2", "1", "1"], ["2", "0", "0", "0"]]


def test_a_case_fails_only_where_the_decision_is_reject(mixed: RunReport) -> None:
    """Tolerated and expected failures are in the output of a passed case."""
    root = read(mixed)
    assert case(root, "asks_before_deleting").find("failure") is not None
    for name in ("reads_before_it_edits", "stops_when_it_loops"):
        assert case(root, name).find("failure") is None
        assert case(root, name).find("system-out") is not None


def test_a_void_is_an_error_and_a_skip_a_skip(cell: Callable[..., Cell], report: Callable[..., RunReport]) -> None:
    """Neither is a failure."""
    root = read(report([(cell("a"), [VOID] * 3), (cell("b", skipped="no key"), [])]))
    error, skip = case(root, "a").find("error"), case(root, "b").find("skipped")
    assert error is not None
    assert "the provider refused the key" in (error.text or "")
    assert skip is not None
    assert "no key" in (skip.get("message") or "")
    assert root.find(".//failure") is None


def test_a_failure_has_its_reason_and_a_command(cell: Callable[..., Cell], report: Callable[..., RunReport]) -> None:
    """The command runs the cell again."""
    failure = case(read(report([(cell("a"), [NO, NO, Pass()])])), "a").find("failure")
    assert failure is not None
    assert failure.get("message") == "1 of 3 passed, fewer than two of three"
    assert "no file" in (failure.text or "")
    assert "demeanor run evals/eval_files.py::a --subject native:scripted --trials 1" in (failure.text or "")


def test_an_empty_run_can_be_reported(report: Callable[..., RunReport]) -> None:
    """A file without cases is still a file."""
    assert read(report([])).get("tests") == "0"


def test_hostile_text_is_still_xml(hostile: tuple[str, RunReport]) -> None:
    """Every parser can read it, and it is not endless."""
    text = junit_report(hostile[1])
    assert len(fromstring(text.encode()).findall(".//testcase")) == 3  # noqa: S314 - our own
    assert len(text) < 100_000
