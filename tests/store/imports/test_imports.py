"""Importing results of other tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.errors import BadInput, DemeanorError
from demeanor.core.values.history import RunCell
from demeanor.core.values.verdict import VoidCause
from demeanor.store.history import SqlHistory, open_history
from demeanor.store.imports import ImportOptions, read_imports, write_imports
from tests.helpers.import_samples import ATIF, CLINE, JUNIT, a_job, a_night, harbor_trial, inspect_log, put, vitest
from tests.plugins.harbor.trials.test_result import JOBS as HARBOR_JOBS


@pytest.fixture
def history(tmp_path: Path) -> Iterator[SqlHistory]:
    """An empty history."""
    with open_history(str(tmp_path / "demeanor.db")) as found:
        yield found


def import_(history: SqlHistory, *paths: Path, **options: Any) -> dict[tuple[str, str], RunCell]:
    """Import twice, the second time without effect; returns the cells of the run."""
    found = read_imports(paths, ImportOptions(**options))
    assert all(one.new for one in write_imports(history.database, found, Redactor()))
    assert [
        one.new for one in write_imports(history.database, read_imports(paths, ImportOptions(**options)), Redactor())
    ] == [0] * len(found)
    (run,) = history.runs()
    return {(cell.eval, cell.subject): cell for cell in history.cells(run.name)}


def counts(cell: RunCell) -> tuple[int, int, int]:
    """Passed, failed, void."""
    return cell.passed, cell.failed, cell.voided


def test_a_night_of_vitest_reports_is_one_nightly_run(history: SqlHistory, tmp_path: Path):
    """Attempts are trials, skipped tests have not failed, and tests that were given up after a 503 are void."""
    cells = import_(history, a_night(tmp_path / "night"))
    pro, flash = "gemini-cli:gemini-3-pro-preview", "gemini-cli:gemini-2.5-flash"
    assert counts(cells["saves", pro]) == (3, 0, 0)
    assert counts(cells["saves", flash]) == (2, 1, 0)
    assert counts(cells["asks", flash]) == (2, 0, 1)
    assert cells["component", pro].skipped
    assert counts(cells["component", pro]) == (0, 0, 0)
    (run,) = history.runs(kind="nightly")
    assert (run.origin, run.info.started) == ("vitest", "2026-01-01T00:00:00.000+00:00")
    (failed,) = [one for one in history.trials(run.name, name="saves", subject=flash) if one.verdict.outcome == "fail"]
    assert failed.number == 2
    assert "it did not" in failed.verdict.findings[0].reason
    (void,) = [one for one in history.trials(run.name, name="asks", subject=flash) if one.verdict.outcome == "void"]
    assert void.verdict.cause is VoidCause.PROVIDER  # type: ignore[union-attr]
    assert [cell.eval for cell in history.nightly_cells(7, evals=["saves"])] == ["saves", "saves"]


def test_one_vitest_report_with_repeated_titles(history: SqlHistory, tmp_path: Path):
    """Tests with the same title are different evals."""
    report = vitest(saves="passed")
    tests = report["testResults"][0]["assertionResults"]
    tests += [{**tests[0], "status": "failed", "ancestorTitles": ["other"]}, {**tests[0], "ancestorTitles": ["other"]}]
    cells = import_(history, put(tmp_path / "report.json", report), subject="mine:m", kind="ci")
    assert {key: counts(cell) for key, cell in cells.items()} == {
        ("saves", "mine:m"): (1, 0, 0),
        ("other > saves", "mine:m"): (0, 1, 0),
        ("other > saves (3)", "mine:m"): (1, 0, 0),
    }


def test_clines_report(history: SqlHistory, tmp_path: Path):
    """A trial with a duration of 0 never ran."""
    cells = import_(history, put(tmp_path / "report.json", CLINE))
    cell = cells["01-create-file", "cline:anthropic/claude-sonnet-4.5"]
    assert counts(cell) == (1, 1, 1)
    assert cell.spent.seconds == 17.0
    assert history.run().info.started == "2026-01-02T03:04:05.678+00:00"


def test_harbor_job(history: SqlHistory, tmp_path: Path):
    """A missing reward is void, not 0."""
    cells = import_(history, a_job(tmp_path / "job"))
    cell = cells["proto/greet", "claude-code:anthropic/sonnet"]
    assert counts(cell) == (2, 1, 2)
    assert (cell.agent_version, cell.eval_hash) == ("2.0.1", "abcdef012345")
    assert cell.spent.cost_usd == pytest.approx(5 * 0.0123)
    first, *_ = history.trials(history.run().name)
    assert (first.number, first.chain, first.spent.turns, first.spent.seconds) == (1, "Read → Write", 2, 30.0)
    causes = [one.verdict.cause for one in history.trials(history.run().name) if one.verdict.outcome == "void"]  # type: ignore[union-attr]
    assert causes == [VoidCause.VERIFIER, VoidCause.SANDBOX]


@pytest.mark.parametrize(
    ("name", "expected"), [("greet", (1, 0, 0)), ("slow", (1, 0, 0)), ("rich", (0, 1, 0)), ("missing", (0, 0, 1))]
)
def test_job_of_the_real_harbor(history: SqlHistory, name: str, expected: tuple[int, int, int]):
    """Recorded with Harbor 0.24.0."""
    cells = import_(history, HARBOR_JOBS / name / "attempt")
    assert counts(cells[f"lab/{name}", "oracle"]) == expected


def test_a_resumed_job_is_the_same_run(history: SqlHistory, tmp_path: Path):
    """Only new trials are added."""
    job = a_job(tmp_path / "job")
    write_imports(history.database, read_imports([job], ImportOptions()), Redactor())
    put(job / "greet__f" / "result.json", harbor_trial("greet__f", reward=1.0, hour=6))
    (written,) = write_imports(history.database, read_imports([job], ImportOptions()), Redactor())
    assert written.new == 1
    assert len(history.runs()) == 1


def test_junit(history: SqlHistory, tmp_path: Path):
    """A failure is a fail, an error is void, the same name again is another trial."""
    cells = import_(history, put(tmp_path / "junit.xml", JUNIT), subject="mine:m")
    assert counts(cells["tests.test_a::test_one", "mine:m"]) == (1, 1, 0)
    assert counts(cells["tests.test_a::test_two", "mine:m"]) == (0, 0, 1)
    assert cells["tests.test_a::test_three", "mine:m"].skip_reason == "no key"


@pytest.mark.parametrize("zstd", [False, True])
def test_inspect_log(history: SqlHistory, tmp_path: Path, zstd: bool):
    """A sample is an eval, an epoch is a trial; errors and missing scores are void."""
    cells = import_(history, inspect_log(tmp_path / "log.eval", zstd=zstd))
    cell = cells["file_ops/7", "claude_code:openai/gpt-5"]
    assert counts(cell) == (1, 1, 2)
    assert (cell.commit, cell.dirty, cell.spent.input_tokens) == ("abc123", False, 400)


def test_inspect_json_log(history: SqlHistory, tmp_path: Path):
    """The second of its two formats."""
    spec = {"created": "2026-01-02T03:04:05Z", "task": "t", "model": "m"}
    samples = [{"id": "a", "epoch": 1, "scores": {"s": {"value": 1}}}]
    log = {"version": 2, "status": "success", "eval": spec, "samples": samples}
    assert counts(import_(history, put(tmp_path / "log.json", log))["t/a", "inspect:m"]) == (1, 0, 0)


BROKEN: dict[str, tuple[str, Any, str]] = {
    "no JSON": ("r.json", "{", r"is not valid JSON: .*\n  → if it is incomplete"),
    "deep JSON": ("r.json", "[" * 100_000, "is not valid JSON"),
    "other JSON": ("r.json", {"a": 1}, "has an unknown format\n  → expected a Vitest JSON report"),
    "a trajectory": ("r.json", ATIF, "is a trajectory, which has no verdict\n  → import the job folder"),
    "vitest without titles": (
        "r.json",
        {"numTotalTests": 1, "testResults": [{"assertionResults": [{"status": "passed"}]}]},
        r"r.json: testResults\[0\].assertionResults\[0\].title: expected str, found NoneType",
    ),
    "vitest without tests": ("r.json", {"numTotalTests": 0, "testResults": []}, "contains no trials"),
    "cline without a time": ("r.json", {**CLINE, "timestamp": 3e99}, "timestamp: expected a time"),
    "cline without a verdict": (
        "r.json",
        {**CLINE, "results": [{"scenarioId": "x", "trials": [{"passed": "yes"}]}]},
        r"results\[0\].trials\[0\].passed: expected bool",
    ),
    "a newer report": (
        "r.json",
        {"schema": "demeanor-report/9"},
        "schema: expected 'demeanor-report/1'.*\n  → upgrade",
    ),
    "an edited report": ("r.json", {"schema": "demeanor-report/1", "run": {"id": 3}, "cells": []}, "can't be read"),
    "other XML": ("r.xml", "<html/>", "is XML, but not a JUnit report"),
    "half XML": ("r.xml", "<testsuites><testsuite>", "is not valid XML"),
    "entities": (
        "r.xml",
        '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><testsuites><testsuite name="&b;"/></testsuites>',
        "declares a document type",
    ),
    "no zip": ("r.eval", "PK", "is not a zip file"),
    "nothing": ("deep/er.txt", "x", "contains nothing that can be imported"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_an_error_with_file_and_key(tmp_path: Path, case: str):
    """And with a remedy; nothing is written."""
    name, data, message = BROKEN[case]
    path = put(tmp_path / name, data)
    with pytest.raises(BadInput, match=f"(?s){message}"):
        read_imports([path if path.suffix != ".txt" else path.parent], ImportOptions())


def test_one_broken_file_stops_the_whole_import(history: SqlHistory, tmp_path: Path):
    """Everything is read before anything is written."""
    good, bad = put(tmp_path / "a.json", CLINE), put(tmp_path / "b.json", "{")
    with pytest.raises(BadInput, match=r"b\.json"):
        write_imports(history.database, read_imports([good, bad], ImportOptions()), Redactor())
    assert history.runs() == ()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.data())
@pytest.mark.parametrize("sample", ["vitest", "cline", "harbor", "atif"])
def test_any_file_is_imported_or_refused(history: SqlHistory, tmp_path: Path, sample: str, data: st.DataObject):
    """With any value replaced, the result is an import or a clear error."""
    made: dict[str, Callable[[], Any]] = {
        "vitest": lambda: vitest(saves="failed"),
        "cline": lambda: json.loads(json.dumps(CLINE)),
        "harbor": lambda: harbor_trial("x", reward=1.0, error="AgentTimeoutError"),
        "atif": lambda: json.loads(json.dumps(ATIF)),
    }
    document = made[sample]()
    where: Any = document
    while True:
        keys = list(where) if isinstance(where, dict) else list(range(len(where)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(where[key], dict | list) or not where[key] or data.draw(st.booleans()):
            where[key] = data.draw(JSON)
            break
        where = where[key]
    if sample == "atif":
        put(tmp_path / "x" / "agent" / "trajectory.json", document)
        document = harbor_trial("x", reward=1.0)
    path = put(tmp_path / "x" / "result.json", document)
    try:
        write_imports(history.database, read_imports([path], ImportOptions()), Redactor())
    except DemeanorError as error:
        assert "can't be imported" in str(error) or "result.json" in str(error) or "trajectory.json" in str(error)  # noqa: PT017
