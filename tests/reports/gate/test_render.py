from __future__ import annotations

from dataclasses import replace

import pytest

from demeanor.core.values.exit_code import ExitCode
from demeanor.render.terminal import Screen
from demeanor.reports.gate.render import gate_markdown, gate_terminal
from tests.helpers.decision_reports import a_gate


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_answer_comes_first_and_no_line_is_too_long(width: int) -> None:
    """Every width shows the answer, the score and the undecided evals."""
    text = gate_terminal(*a_gate(), Screen(width=width))
    mine, _, _ = text.partition("What broke")
    assert max(map(len, mine.splitlines())) <= width
    assert text.startswith("Must not merge: 1 of 4 cells rejected, 1 undecided")
    for word in ("REJECT", "OPEN", "accept", "skipped", "0/11", "Undecided"):
        assert word in mine
    assert "57/60 in 20 nights" in mine or width < 100


def test_the_error_rates_of_the_applied_rules_are_shown() -> None:
    """On request, so that the reader can judge how reliable an answer is."""
    assert "every_trial: ALWAYS" not in gate_terminal(*a_gate(), Screen(width=400))
    text = " ".join(gate_terminal(*a_gate(), Screen(width=100), explain=True).split())
    assert "every_trial: ALWAYS_PASSES: 3 trials" in text
    assert (
        "For 2 cells that are expected to pass 95 % of the time, whose trials are independent: it rejects 0.69 % at "
        "95 %, 24 % at 80 %, 85 % at 50 %"
    ) in text
    assert "two_of_three: USUALLY_PASSES without two nights" in text


def test_an_interrupted_gate_says_how_to_go_on() -> None:
    """It can't be resumed, as a run can."""
    report, run = a_gate()
    text = " ".join(gate_terminal(report, replace(run, exit_code=ExitCode.INTERRUPTED), Screen(width=100)).split())
    assert "next run the command again; a gate starts from its first trial, because it can't be resumed" in text
    assert "--resume" not in text
    assert "run the command again; a gate" not in gate_terminal(report, run, Screen(width=400))


def test_a_gate_without_cells_says_what_gates_a_change() -> None:
    """In place of a table without rows."""
    report, run = a_gate()
    empty = replace(report, rows=(), empty=True, unknown=("the history has no night → run it (demeanor help ci)",))
    for text in (gate_markdown(empty), gate_terminal(empty, run, Screen(width=100)).partition("What broke")[0]):
        flat = " ".join(text.split())
        assert "Nothing was gated: no selected eval can block a merge, but the history has no night" in flat
        assert 'accepted with [gate] empty = "pass"' in flat.replace("&quot;", '"').replace("\\", "")
        assert "policy" not in flat.lower()
    assert "\nUnknown: the history has no night → run it (demeanor help ci)\n" in gate_markdown(empty)


def test_markdown_shows_the_same_and_escapes_all_text() -> None:
    """One row per cell."""
    text = gate_markdown(a_gate()[0])
    assert text.startswith("## ❌ Must not merge")
    assert text.count("\n| ") == 7
    assert "<b>" not in text
    assert "| **undecided** | `gone` | `a:m` | usually | new |" in text
