"""The report of `cover` in each format."""

from __future__ import annotations

import html
import re
from dataclasses import replace

from markdown_it import MarkdownIt

from demeanor.core.text.instructions import PromptPiece
from demeanor.core.values.exit_code import ExitCode
from demeanor.render.terminal import Screen
from demeanor.reports.prompt_coverage.render import cover_markdown, cover_terminal, headline
from demeanor.reports.prompt_coverage.report import (
    Coverage,
    CoveredInstruction,
    CoveringEval,
    CoverReport,
    NoticedBy,
)

READS = NoticedBy(
    eval="reads_first", change="drop", before_passed=58, before_judged=60, after_passed=0, after_judged=4, doubt=0.0004
)


def a_cover() -> CoverReport:
    """A report with each answer."""
    rows = (
        CoveredInstruction(
            id="b9ff9143",
            kind="item",
            place="system",
            text="- Read a file before you edit it.",
            file="prompts/system.md",
            line=12,
            answer="held",
            noticed_by=(READS,),
        ),
        CoveredInstruction(
            id="0a1b2c3d",
            kind="sentence",
            place="system",
            text="Look before you leap.",
            file="prompts/system.md",
            line=14,
            answer="redundant",
            noticed_by=(replace(READS, eval="asks_first", together=("1c7eb3d2",)),),
        ),
        CoveredInstruction(
            id="77777777",
            kind="sentence",
            place="system",
            text="Ask before you write anything.",
            file=None,
            line=None,
            answer="harmful",
            noticed_by=(replace(READS, eval="saves", change="rise", before_passed=3, after_passed=4, after_judged=4),),
        ),
        CoveredInstruction(
            id="bfdc9522",
            kind="tool",
            place="read_file",
            text="Read a text file. <b>&</b> \x1b[31mred|`code`",
            file="tools.json",
            line=3,
            answer="not held",
        ),
        CoveredInstruction(
            id="b3ac5a1d",
            kind="parameter",
            place="read_file.path",
            text="Path relative to the workspace.",
            file=None,
            line=None,
            answer="not tried",
            untried=("reads_first", "saves"),
        ),
    )
    evals = (
        CoveringEval(
            eval="reads_first",
            passed=58,
            judged=60,
            source="history",
            notices_below=0.41,
            notices_above=None,
            instructions=5,
            unusable=None,
        ),
        CoveringEval(
            eval="flaky_one",
            passed=1,
            judged=2,
            source="measured",
            notices_below=None,
            notices_above=None,
            instructions=5,
            unusable="its rate is not known well enough: 2 trials with the prompt as it is",
        ),
    )
    return CoverReport(
        subject="toy:brain",
        run="2026-11-17T08-13-25-k5ue8",
        folder="results/cover/2026-11-17T08-13-25-k5ue8",
        coverage=Coverage(held=1, tried=4, instructions=5, rate=0.25, low=0.2, high=0.6),
        min_coverage=None,
        complete=False,
        exit_code=ExitCode.UNDECIDED,
        operator="remove",
        drop=0.5,
        sure=0.95,
        false_alarm=0.01,
        since=None,
        instructions=rows,
        prompt=(
            PromptPiece(id="", place="system", text="# Rules\n"),
            *(PromptPiece(id=one.id, place=one.place, text=f"{one.text}\n") for one in rows[:-1]),
        ),
        evals=evals,
        trials=147,
        voided=1,
        reused=20,
        cost_usd=1.25,
        notes=("stopped after 147 trials (--max-trials)",),
    )


def test_evals_that_are_left_out_say_why_in_full() -> None:
    """Not in a column that is cut off, and also in the summary of a job."""
    narrow = " ".join(cover_terminal(a_cover(), Screen(width=60)).split())
    why = "its rate is not known well enough: 2 trials with the prompt as it is"
    assert f"left out flaky_one: {why}" in narrow
    summary = cover_markdown(a_cover())
    assert why in html.unescape(summary)
    assert "| eval | passed | from | notices |" in summary


def test_evals_are_only_listed_as_untried_if_others_were_tried() -> None:
    """The heading says already that there is no answer."""
    report = a_cover()
    assert "not tried with" not in cover_terminal(report)
    second = replace(report.evals[1], unusable=None)
    assert "not tried with reads_first, saves" in cover_terminal(replace(report, evals=(report.evals[0], second)))


def test_each_answer_has_its_evals_and_rates() -> None:
    """From what to what, and how sure."""
    text = cover_terminal(a_cover())
    assert "reads_first: 58/60 → 0/4 passed (false alarm: at most 0.04 %)" in text
    assert "only together with 1c7eb3d2" in text
    assert "prompts/system.md:12" in text
    assert "harmful (1): the rate of an eval rises without it" in text


def test_hostile_text_stays_text() -> None:
    """Control characters and markup of a prompt reach neither terminal nor page."""
    assert "\x1b" not in cover_terminal(a_cover())
    assert "<b>" not in MarkdownIt("commonmark").enable("table").render(cover_markdown(a_cover()))
    bars = [len(re.findall(r"(?<!\\)\|", line)) for line in cover_markdown(a_cover()).splitlines() if line[:1] == "|"]
    assert bars == [6] * (2 + len(a_cover().instructions)) + [5] * (2 + len(a_cover().evals))


def test_the_markdown_names_tools_and_files() -> None:
    """Parameters of several tools may have the same description."""
    shown = cover_markdown(a_cover())
    assert "read_file.path: Path relative to the workspace." in shown
    assert "| `prompts/system.md:12` |" in shown


def test_the_headline_says_whether_enough_is_held() -> None:
    """With the rate, its interval and what is required."""
    report = replace(a_cover(), min_coverage=0.8, exit_code=ExitCode.REJECTED)
    assert headline(report).startswith("Rejected: 1 of 4 instructions held by an eval: 25 %")
    assert headline(report).endswith("required: 80 %")
    assert headline(replace(report, complete=True, min_coverage=None)).startswith("Coverage: ")
    nothing = Coverage(held=0, tried=0, instructions=0, rate=None, low=None, high=None)
    assert headline(replace(report, coverage=nothing)) == "Undecided: no instruction has an answer yet"
