from __future__ import annotations

import dataclasses
import json
import math
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tools.schemas.reports import report_schema

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.evidence import Spent
from demeanor.core.values.record import Record
from demeanor.core.values.trial import Cell
from demeanor.core.values.verdict import Fail, Finding, Pass, Void, VoidCause
from demeanor.reports.run.report import RunReport
from demeanor.reports.run.to_json import SCHEMA, json_report, read_json_report
from demeanor.reports.run.workflow import publish

SCHEMA_FILE = Path(__file__).parents[3] / "docs" / "report.schema.json"
NO = Fail(findings=(Finding(check="c", answer="no", reason="no file"),))
SECRET = "sk-a-key-that-nobody-may-see-0123456789"
VOID = Void(cause=VoidCause.AUTH, detail="the provider refused the key")


def document(report: RunReport) -> Any:
    found = json.loads(json_report(report))
    jsonschema.Draft202012Validator(report_schema()).validate(found)
    return found


def test_what_is_written_can_be_read_again(mixed: RunReport) -> None:
    """Nothing is lost on the way."""
    assert read_json_report(json_report(mixed)) == mixed


def test_writing_a_large_report_needs_little_memory(
    report: Callable[..., RunReport], cell: Callable[..., Cell], tmp_path: Path
) -> None:
    """Its text is never in memory as a whole, and secrets are removed from every part of it."""
    verdict = Fail(findings=(Finding(check="c", answer="no", reason=f"no file, but {SECRET} " + "x" * 5000),))
    large = report([(cell("a", trials=800), [verdict] * 800)])
    redactor = Redactor({"KEY": SECRET})
    publish(large, tmp_path, environ={}, redactor=redactor)  # whatever is kept for the next time is kept now
    tracemalloc.start()
    try:
        publish(large, tmp_path, environ={}, redactor=redactor)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    written = (tmp_path / "report.json").read_text("utf-8")
    assert len(written) > 4_000_000
    assert SECRET not in written
    assert written == redactor.text(json_report(large))
    assert peak < 2_000_000


def test_records_leave_out_what_is_not_set(report: Callable[..., RunReport], cell: Callable[..., Cell]) -> None:
    """A large run has many of them, and most fields of most of them have their default value."""
    found = document(report([(cell("a", trials=1), [Pass(findings=(Finding(check="c", answer="yes"),))])]))
    (record,) = found["cells"][0]["records"]
    assert record["verdict"] == {"findings": [{"check": "c", "answer": "yes"}], "outcome": "pass"}
    assert not {"stdout", "notes", "agent_version", "final"} & record.keys()


def test_the_report_keeps_to_its_schema(mixed: RunReport) -> None:
    """Which is a right schema itself, and the one in the docs."""
    jsonschema.Draft202012Validator.check_schema(report_schema())
    assert document(mixed)["schema"] == SCHEMA == report_schema()["properties"]["schema"]["const"]


def test_the_schema_in_the_docs_is_fresh() -> None:
    """`make docs` writes it."""
    assert SCHEMA_FILE.read_text("utf-8") == json.dumps(report_schema(), indent=2) + "\n"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.pop("results"),
        lambda d: d.update(extra=1),
        lambda d: d["cells"][0]["tally"].update(passed="3"),
        lambda d: d["cells"][0]["records"][0]["verdict"].update(outcome="maybe"),
        lambda d: d["results"][0]["trials"][0].update(passed=None),
    ],
)
def test_the_schema_refuses_what_is_not_a_report(mixed: RunReport, spoil: Callable[[Any], object]) -> None:
    """A schema that accepts everything says nothing."""
    found = document(mixed)
    spoil(found)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(report_schema()).validate(found)


def test_tools_for_smoke_test_reports_find_their_fields(mixed: RunReport) -> None:
    """With the names and types that they know."""
    found = document(mixed)
    assert (found["timestamp"], found["trialsPerTest"]) == ("2026-11-15T20:59:03Z", 3)
    assert found["models"] == ["native:scripted", "acme-cli:large-2"]
    flaky = found["results"][1]
    assert (flaky["scenarioId"], flaky["model"], flaky["status"]) == (
        "asks_before_deleting",
        "native:scripted",
        "flaky",
    )
    assert flaky["metrics"]["passAt1"] == pytest.approx(1 / 3)
    assert [trial["passed"] for trial in flaky["trials"]] == [True, False, False]
    assert flaky["trials"][1]["error"].startswith("assert not")
    assert flaky["trials"][1]["durationMs"] == 5250


def test_voids_are_no_fails_for_those_tools(cell: Callable[..., Cell], report: Callable[..., RunReport]) -> None:
    """They do not appear in `results` at all, but in `cells`."""
    found = document(report([(cell("a"), [Pass(), VOID, Pass()]), (cell("b"), [VOID] * 3)]))
    assert [result["scenarioId"] for result in found["results"]] == ["a"]
    assert [trial["passed"] for trial in found["results"][0]["trials"]] == [True, True]
    assert found["summary"]["failed"] == 0
    assert [one["status"] for one in found["cells"]] == ["PASS", "VOID"]


def test_two_trials_estimate_pass_at_3_by_their_rate(
    cell: Callable[..., Cell], report: Callable[..., RunReport]
) -> None:
    """A void trial counts for nothing."""
    found = document(report([(cell("a", trials=2), [Pass(), NO])]))
    assert found["results"][0]["metrics"] == {
        "passAt1": 0.5,
        "passAt3": 0.875,
        "passCaret3": 0.125,
        "flakinessScore": 1.0,
    }
    assert (found["summary"]["passAt1Overall"], found["summary"]["passAt3Overall"]) == (0.5, 0.875)


def test_the_overall_numbers_are_means_over_results(
    cell: Callable[..., Cell], report: Callable[..., RunReport]
) -> None:
    """Never pooled: 1 of 1 and 0 of 3 make 50 %."""
    found = document(report([(cell("a", trials=1), [Pass()]), (cell("b"), [NO] * 3)]))
    assert found["summary"] == {
        "total": 2,
        "passed": 1,
        "failed": 1,
        "flaky": 0,
        "passAt1Overall": 0.5,
        "passAt3Overall": 0.5,
    }


def test_numbers_that_json_has_no_word_for_become_null(
    cell: Callable[..., Cell], record: Callable[..., Record], report: Callable[..., RunReport]
) -> None:
    """An agent may claim an infinite cost; the report must still be JSON."""
    made = report([(cell("a", trials=1), [Pass()])])
    odd = dataclasses.replace(made.cells[0].records[0], spent=Spent(cost_usd=math.inf))
    found = document(dataclasses.replace(made, cells=(dataclasses.replace(made.cells[0], records=(odd,)),)))
    assert found["cells"][0]["records"][0]["spent"]["cost_usd"] is None


@pytest.mark.parametrize("text", ["[]", "{}", '{"schema": "demeanor-report/9"}'])
def test_another_schema_is_refused(text: str) -> None:
    """With what was expected."""
    with pytest.raises(ValueError, match="demeanor-report/1"):
        read_json_report(text)


def test_hostile_text_stays_text(hostile: tuple[str, RunReport]) -> None:
    """It is written in ASCII, and read back as it was."""
    text, report = hostile
    written = json_report(report)
    assert written.isascii()
    assert "\x1b" not in written
    assert read_json_report(written) == report
    verdict = read_json_report(written).cells[0].records[0].verdict
    assert verdict.findings[0].reason == text
