"""A vitest file that could not be loaded: its tests are void, not gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.verdict import Void, VoidCause
from demeanor.store.history import SqlHistory, open_history
from demeanor.store.imports import ImportOptions, Written, read_imports, write_imports
from tests.helpers.import_samples import put, vitest

DAY = 24 * 3600 * 1000
STACK = (
    "Error: Expect test to fail\n"
    "    at runTest (file:///x/node_modules/@vitest/runner/dist/chunk-artifact.js:3042:31)\n"
    "    at process.processTicksAndRejections (node:internal/process/task_queues:95:5)"
)
"""What Vitest 4.1 writes for a test with `it.fails` that passes."""


@pytest.fixture
def history(tmp_path: Path) -> Iterator[SqlHistory]:
    """An empty history."""
    with open_history(str(tmp_path / "history.db")) as found:
        yield found


def report(day: int, **statuses: str) -> dict[str, Any]:
    """A report of one day."""
    found = vitest(**statuses)
    found["startTime"] += day * DAY
    return found


def broken(day: int, **statuses: str) -> dict[str, Any]:
    """A report in which another file could not be loaded."""
    found = report(day, **statuses)
    found["testResults"].append(
        {
            "name": "/x/evals/delete.eval.ts",
            "status": "failed",
            "message": "SyntaxError: Unexpected token\n    at delete.eval.ts:3",
            "assertionResults": [],
        }
    )
    return found


def write(history: SqlHistory, path: Path) -> Written:
    """Import one file or folder of `mine:m`."""
    (written,) = write_imports(history.database, read_imports([path], ImportOptions(subject="mine:m")), Redactor())
    return written


def outcomes(history: SqlHistory, name: str) -> dict[str, str]:
    """Test → outcome, of one run."""
    return {one.eval: one.verdict.outcome for one in history.records(name)}


def test_the_tests_of_a_file_that_could_not_be_loaded_are_void(history: SqlHistory, tmp_path: Path):
    """Those that the last earlier run had and this report lacks; a message tells it."""
    write(history, put(tmp_path / "old.json", report(0, saves="passed", ancient="passed")))
    write(history, put(tmp_path / "before.json", report(1, saves="passed", deletes="passed", asks="failed")))
    written = write(history, put(tmp_path / "now.json", broken(2, saves="passed")))
    assert outcomes(history, written.imported.run.id) == {"saves": "pass", "deletes": "void", "asks": "void"}
    (void,) = history.records(written.imported.run.id, name="deletes")
    assert isinstance(void.verdict, Void)
    assert void.verdict.cause is VoidCause.CHECK
    assert "the test file /x/evals/delete.eval.ts could not be loaded: SyntaxError" in void.verdict.detail
    (note,) = written.imported.notes
    assert note.startswith(
        "/x/evals/delete.eval.ts could not be loaded (mine:m, trial 1), 2 tests of earlier runs void: SyntaxError"
    )


def test_a_run_whose_only_file_could_not_be_loaded_is_imported(history: SqlHistory, tmp_path: Path):
    """All its tests are void; without an earlier run, the message says that none are known."""
    alone = broken(1)
    first = write(history, put(tmp_path / "first.json", {**alone, "startTime": alone["startTime"] - 5 * DAY}))
    assert "no earlier run tells its tests" in first.imported.notes[0]
    write(history, put(tmp_path / "before.json", report(0, saves="passed")))
    written = write(history, put(tmp_path / "now.json", alone))
    assert outcomes(history, written.imported.run.id) == {"saves": "void"}


def test_other_reports_of_the_night_tell_the_tests_too(history: SqlHistory, tmp_path: Path):
    """The file was loaded in the first attempt and not in the second."""
    folder = tmp_path / "night"
    whole = broken(0, saves="passed")
    (test,) = vitest(deletes="passed")["testResults"][0]["assertionResults"]
    whole["testResults"][1] |= {"status": "passed", "message": "", "assertionResults": [test]}
    put(folder / "eval-logs-m-1" / "report.json", whole)
    put(folder / "eval-logs-m-2" / "report.json", broken(0, saves="passed"))
    written = write(history, folder)
    found = {(one.eval, one.number): one.verdict.outcome for one in history.records(written.imported.run.id)}
    assert found == {("saves", 1): "pass", ("deletes", 1): "pass", ("saves", 2): "pass", ("deletes", 2): "void"}


def test_the_tests_of_a_file_whose_set_up_failed_are_void(history: SqlHistory, tmp_path: Path):
    """Vitest 1.6, 3.2 and 4.1 report them as skipped (or pending), and only the file as failed."""
    write(history, put(tmp_path / "before.json", report(0, saves="passed", asks="failed", later="skipped")))
    data = report(1, saves="skipped", asks="pending", later="skipped", other="passed")
    data["testResults"][0]["status"] = "failed"
    written = write(history, put(tmp_path / "now.json", data))
    assert outcomes(history, written.imported.run.id) == {"saves": "void", "asks": "void", "other": "pass"}
    (note,) = written.imported.notes
    assert note.startswith(
        "/x/evals/memory.eval.ts failed in its set-up (mine:m, trial 1), 2 tests of earlier runs void"
    )
    data["testResults"][0]["assertionResults"][3]["status"] = "failed"  # the file failed because a test did
    again = write(history, put(tmp_path / "again.json", data))
    assert outcomes(history, again.imported.run.id) == {"other": "fail"}


def test_a_test_that_is_expected_to_fail_and_passes_is_news(history: SqlHistory, tmp_path: Path):
    """Vitest reports it as failed. It is a pass of an eval that usually fails, and a message says so."""
    data = report(0, saves="passed", apologises="failed", asks="failed")
    data["testResults"][0]["assertionResults"][1]["failureMessages"] = [STACK]
    thrown = STACK.replace(
        "runTest (file:///x/node_modules/@vitest/runner/dist/chunk-artifact.js", "/x/evals/memory.eval.ts"
    )
    data["testResults"][0]["assertionResults"][2]["failureMessages"] = [thrown]  # by the test itself
    written = write(history, put(tmp_path / "now.json", data))
    assert outcomes(history, written.imported.run.id) == {"saves": "pass", "apologises": "pass", "asks": "fail"}
    assert {cell.eval: cell.policy.name for cell in history.cells(written.imported.run.id)}[
        "apologises"
    ] == "USUALLY_FAILS"
    assert written.imported.notes == ("news: apologises (mine:m) is expected to fail, but passed",)
