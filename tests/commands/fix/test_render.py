"""The report of a fix: the result first, then every round with its numbers, its patch and its refusals."""

from __future__ import annotations

import re

import pytest
from markdown_it import MarkdownIt

from demeanor.commands.fix.render import describe_round, fix_markdown, fix_terminal
from demeanor.commands.fix.report import (
    EXIT_CODES,
    FixCell,
    FixOutcome,
    FixReport,
    FixRound,
    Score,
    WireTrial,
    score_of,
)
from demeanor.commands.fix.rules import Refusal, Violation
from demeanor.core.values.evidence import Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Decision, Estimate, Tally
from demeanor.render.terminal import Screen

HOSTILE = "\x1b]0;owned\x07 | `<script>` ![x](http://evil) "


def score(passed: int, judged: int, answer: str = "accept") -> Score:
    rate = Estimate(value=passed / judged, low=0.1, high=0.9)
    return Score(passed=passed, judged=judged, voided=0, rate=rate, answer=answer, reason="")


def cell(name: str, before: Score | None, after: Score | None) -> FixCell:
    return FixCell(eval=name, subject="a:m", policy=Policy.USUALLY_PASSES, before=before, after=after, p_value=0.01)


REFUSED = FixRound(
    number=1,
    outcome=FixOutcome.REFUSED,
    detail="the change broke 1 rule, so it was not run",
    files=("src/agent.py",),
    patch=f"--- a/src/agent.py\n+++ b/src/agent.py\n+{HOSTILE}\n",
    refusals=(
        Refusal(
            foul=Violation.OUTSIDE, path="src/agent.py", detail=f"changed, but it is not in the allowed paths{HOSTILE}"
        ),
    ),
    fixer=Spent(seconds=3.0, cost_usd=0.5),
)
FIXED = FixRound(
    number=2,
    outcome=FixOutcome.FIXED,
    detail="2 other evals did not get worse",
    files=("prompts/a.md",),
    patch="--- a/prompts/a.md\n+++ b/prompts/a.md\n-Be quick.\n+Read first.\n",
    patch_file="/results/fixes/x/round-2/patch.diff",
    root_cause=f"It was never told to read.{HOSTILE}",
    wire=WireTrial(
        detail=f"1 instruction changed: it helps{HOSTILE}",
        instructions=("b9ff9143",),
        cells=(cell("reads_first", score(0, 3, "reject"), score(2, 3)),),
    ),
    cells=(cell("reads_first", score(0, 3, "reject"), score(3, 3)),),
    guard=(cell("saves_what_it_is_asked_to_save_under_any_circumstances", None, score(3, 3)),),
    fixer=Spent(seconds=3.0, cost_usd=0.5),
)


def a_fix(*rounds: FixRound, outcome: FixOutcome = FixOutcome.FIXED, applied: bool = False) -> FixReport:
    """A report with a refused round and a fixed one."""
    return FixReport(
        id="x",
        outcome=outcome,
        exit_code=EXIT_CODES[outcome],
        evals=("reads_first",),
        run="2026-11-16T01-00-00",
        commit="0123456789abcdef",
        fixer="fixer:m",
        rule="trials",
        before=(cell("reads_first", score(0, 3, "reject"), None),),
        rounds=rounds or (REFUSED, FIXED),
        spent=Spent(seconds=60.0, cost_usd=1.25),
        unpriced=0,
        folder="/results/fixes/x",
        applied=applied,
        notes=(f"note{HOSTILE}",),
    )


@pytest.mark.parametrize("width", [50, 80, 120])
def test_the_report_is_complete_and_hostile_text_stays_text(width: int):
    """No line is wider than the screen, except the one with the path of the patch."""
    text = fix_terminal(a_fix(), Screen(width=width))
    flat = " ".join(text.split())
    assert text.startswith("Fixed: 1 eval after 2 rounds; 2 other evals")
    assert "\x1b" not in text
    for part in (
        "refused: outside: src/agent.py: changed, but it is not in the allowed paths",
        "It was never told to read.",
        "$1.25",
    ):
        assert part in flat
    assert ("0/3, 0 % [10–90]" in text, "3/3, 100 % [10–90]" in text) == (True, True)
    assert "git apply --index" in flat
    ours = [line for line in text.splitlines() if "patch.diff" not in line]
    assert max(map(len, ours)) <= max(width, 75)


def test_the_command_to_apply_is_shown_only_if_it_is_needed():
    """Not after --apply, and not without a fix."""
    assert "git apply" not in fix_terminal(a_fix(applied=True))
    assert "git apply" not in fix_terminal(a_fix(REFUSED, outcome=FixOutcome.REFUSED))
    assert fix_terminal(a_fix(REFUSED, outcome=FixOutcome.REFUSED)).startswith("Refused: 1 eval after 1 round")


def test_without_a_round_the_scores_before_are_shown():
    """When there was nothing to fix."""
    report = a_fix(outcome=FixOutcome.PASSES)
    text = fix_terminal(FixReport(**{**_fields(report), "rounds": ()}))
    assert text.startswith("Nothing to fix: 1 eval\n")
    assert "0/3" in text


def test_markdown_puts_hostile_text_into_code():
    """No link, no HTML, no broken table."""
    text = fix_markdown(a_fix())
    shown = MarkdownIt("commonmark").enable("table").render(text)
    assert not {"<script", "<a ", "<img "} & set(re.findall(r"<\w+ ?", shown))
    assert "\x1b" not in text
    assert "| `reads_first` | `a:m` | 0/3, 0 % [10–90] | 3/3, 100 % [10–90] | 0.01 |" in text
    assert text.startswith("## ✅ Fixed: 1 eval after 2 rounds\n")
    assert "### Round 1: refused" in text


def test_the_next_round_gets_the_result_of_the_last_one():
    """The change, the outcome, and why it was refused."""
    text = describe_round(REFUSED)
    assert "Round 1: refused" in text
    assert "src/agent.py" in text
    assert "+++ b/src/agent.py" in text
    assert "reads_first" in describe_round(FIXED)


def test_worse_means_rejected_now_and_not_before():
    """An eval that fails without the change too is not worse."""
    bad, good = score(0, 3, "reject"), score(3, 3)
    assert cell("a", good, bad).worse
    assert cell("a", None, bad).worse
    assert not cell("a", bad, bad).worse
    assert not cell("a", bad, good).worse
    assert not cell("a", bad, None).worse


def test_a_score_is_a_tally_with_its_decision():
    """Voids are counted separately."""
    tally = Tally(eval="a", subject="b", policy=Policy.ALWAYS_PASSES, passed=1, failed=2, voided=1)
    found = score_of(tally, Decision(answer="reject", rule="r", reason="why"))
    assert (found.passed, found.judged, found.voided, found.answer, found.reason) == (1, 3, 1, "reject", "why")


def _fields(report: FixReport) -> dict[str, object]:
    return {name: getattr(report, name) for name in report.__dataclass_fields__}


def test_a_change_that_was_dropped_on_the_wire_is_described_once():
    """With its numbers, also for the next round."""
    said = "1 instruction changed: reads_first on a:m: 0 of 3 passed, so the change was not built"
    cells = (cell("reads_first", score(0, 3, "reject"), score(0, 3, "reject")),)
    wire = WireTrial(detail=said, instructions=("b9ff9143",), cells=cells, dropped=True)
    one = FixRound(number=1, outcome=FixOutcome.NOT_FIXED, detail=f"on the wire: {said}", wire=wire)
    report = a_fix(one, outcome=FixOutcome.NOT_FIXED)
    for text in (fix_terminal(report, Screen(width=200)).partition("Round 1")[2], fix_markdown(report)):
        assert (text.count(said), text.count("on the wire") + text.count("On the wire")) == (1, 2), text
    assert "0/3" in describe_round(one)
