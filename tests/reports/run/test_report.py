from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.trial import Cell
from demeanor.core.values.verdict import Fail, Finding, Pass
from demeanor.reports.run.report import RunReport

Make = Callable[..., RunReport]


def test_a_report_follows_the_plan(mixed: RunReport) -> None:
    """Every cell of the plan is there, in its order, with its own records."""
    names = [cell.tally.eval for cell in mixed.cells]
    assert names[:2] == ["saves_the_note", "asks_before_deleting"]
    assert len(names) == 11
    assert all(
        record.cell == f"{cell.tally.eval}/{cell.tally.subject}" for cell in mixed.cells for record in cell.records
    )


def test_paths_are_shown_as_one_would_type_them(mixed: RunReport) -> None:
    """Relative to where the command was given."""
    assert mixed.cells[0].source == "evals/eval_files.py"
    assert mixed.folder == "results/2026-11-15T20-59-03Z"


def test_the_decisions_make_the_exit_code(cell: Callable[..., Cell], report: Make) -> None:
    """By the rules that were handed in."""
    no = Fail(findings=(Finding(check="c", answer="no"),))
    assert report([(cell("e"), [Pass(), Pass(), Pass()])]).exit_code is ExitCode.ACCEPTED
    assert report([(cell("e"), [no, no, no])]).exit_code is ExitCode.REJECTED
    assert report([(cell("e"), [])]).exit_code is ExitCode.UNDECIDED


def test_an_interrupted_run_says_so(cell: Callable[..., Cell], report: Make) -> None:
    """Whatever the finished part would mean."""
    assert report([(cell("e"), [Pass()])], interrupted=True).exit_code is ExitCode.INTERRUPTED


def test_only_the_last_attempt_of_a_trial_is_one_of_its_trials(mixed: RunReport) -> None:
    """The earlier ones stay among the records."""
    retried = mixed.cells[4]
    assert [record.attempt for record in retried.trials] == [1, 2, 1]
    assert len(retried.records) == 4


def test_reports_for_programs_do_not_load_what_only_terminals_need() -> None:
    """rich is imported by the terminal and live modules only."""
    modules = ["report", "to_json", "markdown", "junit"]
    code = (
        f"import sys, {', '.join(f'demeanor.reports.run.{name}' for name in modules)}; sys.exit('rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
