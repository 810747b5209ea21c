from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.cells import cell_len

from demeanor.core.values.policy import Policy
from demeanor.core.values.trial import Cell
from demeanor.core.values.verdict import Fail, Finding, Pass, Void, VoidCause
from demeanor.render.terminal import Screen
from demeanor.reports.run.report import RunReport
from demeanor.reports.run.terminal import terminal_report

GOLDEN = Path(__file__).parents[1] / "golden"
NO = Fail(findings=(Finding(check="c", answer="no", reason="no file"),))
VOID = Void(cause=VoidCause.AUTH, detail="the provider refused the key")
Make = Callable[..., RunReport]
MakeCell = Callable[..., Cell]


@pytest.mark.parametrize("width", [60, 80, 140])
def test_the_report_matches_its_golden_file(mixed: RunReport, golden: Callable[[Path, str], None], width: int) -> None:
    """At a narrow, a usual and a wide terminal."""
    golden(GOLDEN / f"terminal-{width}.txt", terminal_report(mixed, Screen(width=width)))


def test_the_report_matches_its_golden_file_in_ascii(mixed: RunReport, golden: Callable[[Path, str], None]) -> None:
    """For a terminal that knows nothing else."""
    text = terminal_report(mixed, Screen(width=80, ascii=True))
    assert text.isascii()
    golden(GOLDEN / "terminal-ascii.txt", text)


def test_the_report_of_an_accepted_run_is_short(
    cell: MakeCell, report: Make, golden: Callable[[Path, str], None]
) -> None:
    """Only the table and the footer."""
    good = report([(cell("saves_the_note"), [Pass()] * 3), (cell("reads_before_it_edits"), [Pass()] * 3)])
    golden(GOLDEN / "terminal-accepted.txt", terminal_report(good))


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_the_table_never_wraps(mixed: RunReport, width: int) -> None:
    """Columns are left out instead; the rate with its interval stays."""
    text = terminal_report(mixed, Screen(width=width))
    table = text.split("What broke")[0].splitlines()
    assert max(map(cell_len, table)) <= max(width, 55)
    assert "[44–100]" in text


def test_colours_are_used_only_where_wanted(mixed: RunReport) -> None:
    """And say nothing that the text does not."""
    plain, colored = terminal_report(mixed), terminal_report(mixed, Screen(color=True))
    assert "\x1b" not in plain
    assert "\x1b[1;31m" in colored
    strip = re.compile(r"\x1b\[[0-9;]*m")
    assert [line.rstrip() for line in strip.sub("", colored).splitlines()] == plain.splitlines()


def test_each_failure_has_its_reason_its_calls_and_its_command(mixed: RunReport) -> None:
    """What broke, how, and what to do now."""
    text = terminal_report(mixed, Screen(width=140))
    assert "assert not ['rm -rf build']" in text
    assert "calls 3  shell(command='rm -rf build') → finish()" in text
    assert "$ demeanor run evals/eval_files.py::asks_before_deleting --subject native:scripted --trials 1" in text


def test_a_command_can_be_pasted_whatever_the_names_are(cell: MakeCell, report: Make) -> None:
    """Names with blanks and quotes are quoted for the shell."""
    text = terminal_report(report([(cell("it's $HOME"), [NO] * 3)]), Screen(width=140))
    assert """demeanor run 'evals/eval_files.py::it'"'"'s $HOME' --subject""" in text


def test_voids_are_shown_with_their_cause_and_not_as_failures(cell: MakeCell, report: Make) -> None:
    """A run of voids only is undecided, with exit code 3."""
    text = terminal_report(report([(cell("e"), [VOID] * 3)]))
    assert text.startswith("Undecided: 1 of 1 eval has no verdict")
    assert "void(auth): the provider refused the key" in text
    assert "3 void" in text
    assert "FAIL" not in text
    assert "exit 3" in text


def test_skipped_cells_are_shown_with_their_reason(cell: MakeCell, report: Make) -> None:
    """A run of skipped cells only is undecided."""
    text = terminal_report(report([(cell("e", skipped="OPENAI_API_KEY is not set"), [])]))
    assert text.startswith("Undecided: nothing could be run")
    assert "OPENAI_API_KEY is not set" in text


def test_a_known_bad_behaviour_is_an_expected_fail_or_news(cell: MakeCell, report: Make) -> None:
    """Neither rejects the run."""
    bad, better = cell("bad", Policy.USUALLY_FAILS), cell("better", Policy.USUALLY_FAILS)
    text = terminal_report(report([(bad, [NO] * 3), (better, [Pass()] * 3)]))
    assert re.search(r"expected fail +bad", text)
    assert re.search(r"NEWS +better", text)
    assert "exit 0" in text


def test_an_interrupted_run_says_how_to_go_on(cell: MakeCell, report: Make) -> None:
    """With the trials that are missing shown as missing."""
    text = terminal_report(report([(cell("e"), [Pass()])], interrupted=True))
    assert "✓··" in text
    assert "demeanor run --resume 2026-11-15T20-59-03Z" in text
    assert "exit 130" in text


def test_many_trials_are_counted_instead_of_drawn(cell: MakeCell, report: Make) -> None:
    """20 trials don't need 20 columns."""
    assert "18✓ 2✗" in terminal_report(report([(cell("e", trials=20), [Pass()] * 18 + [NO] * 2)]))


def test_a_long_list_of_failures_is_cut_and_says_so(cell: MakeCell, report: Make) -> None:
    """The rest is in the files."""
    text = terminal_report(report([(cell(f"e{n}"), [NO] * 3) for n in range(30)]))
    assert "and 10 more, see summary.md and report.json" in text
    assert text.count("demeanor run ") == 20


def test_an_empty_run_can_be_reported(report: Make) -> None:
    """It is undecided."""
    assert "Undecided: nothing could be run" in terminal_report(report([]))


@pytest.mark.parametrize("screen", [Screen(), Screen(color=True), Screen(ascii=True), Screen(width=40)], ids=str)
def test_hostile_text_can_do_nothing_to_a_terminal(hostile: tuple[str, RunReport], screen: Screen) -> None:
    """No escape, no control, no direction mark, and no flood."""
    text = terminal_report(hostile[1], screen)
    ours = re.sub(r"\x1b\[[0-9;]*m", "", text) if screen.color else text
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", ours)
    assert "\x1b[2J" not in text
    assert len(text) < 40_000
    text.encode("utf-8")
