from __future__ import annotations

import pytest

from demeanor.plugins.lab.bisect.render import bisect_terminal, chances_line, progress_line
from demeanor.plugins.lab.bisect.report import BisectOutcome, BisectReport, CommitFound, rate_found
from demeanor.render.terminal import Screen
from demeanor.statistics.bisection import Tries
from demeanor.vcs.commit_range import Commit

HOSTILE = "Shorter \x1b[31mprompt\x1b[0m\u202e and so on"


def found(place: int, chance: float, passed: int = 0, failed: int = 0, **more: object) -> CommitFound:
    """A commit of a line."""
    commit = Commit(hash=f"{place:040x}"[::-1], subject=HOSTILE, author="A. Uthor", date="2026-11-02T10:00:00+00:00")
    run = f"run-{place}" if passed + failed else None
    return CommitFound(commit=commit, chance=chance, passed=passed, failed=failed, run=run, **more)  # type: ignore[arg-type]


def a_bisection(outcome: BisectOutcome = BisectOutcome.FOUND, **changes: object) -> BisectReport:
    """Five commits, of which the fourth changed it."""
    line = (
        found(1, 0.0, 3),
        found(2, 0.001, skipped="build = 'make': exit code 2"),
        found(3, 0.009, 5, 1, reused=4),
        found(4, 0.97, 1, 4, voided=1),
        found(5, 0.01, 1, 2),
    )
    values: dict[str, object] = {
        "eval": "reads_first", "subject": "toy:brain", "good": "v1", "bad": "HEAD", "outcome": outcome,
        "exit_code": outcome.exit_code, "asked_confidence": 0.95, "confidence": 0.97, "no_difference": 0.01,
        "suspects": line[3:4], "credible": (line[3].commit.hash,), "before": rate_found(Tries(8, 1)),
        "after": rate_found(Tries(2, 6)), "commits": line, "trials": 13, "voided": 1, "reused": 4, "built": 4,
        "cost_usd": 0.42, "notes": ("a note",),
    }  # fmt: skip
    return BisectReport(**{**values, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("outcome", list(BisectOutcome))
def test_no_line_is_too_long_and_nothing_hostile_reaches_the_terminal(outcome: BisectOutcome, width: int) -> None:
    """For commits of any author."""
    text = bisect_terminal(a_bisection(outcome), Screen(width=width))
    commands = [line for line in text.splitlines() if "demeanor trace" in line]
    assert max(len(line) for line in text.splitlines() if line not in commands) <= width
    assert not {"\x1b", "\u202e"} & set(text)
    assert bisect_terminal(a_bisection(outcome), Screen(width=width, ascii=True)).isascii()


def test_the_report_shows_the_commit_the_numbers_and_what_to_do() -> None:
    """Commit, author, rates with intervals, usage, and commits that could not be tested."""
    report = a_bisection()
    text = bisect_terminal(report, Screen(width=100))
    assert text.startswith("Found: 400000000000 changed reads_first (probability 97 %)\n")
    for expected in (
        "commit  400000000000 Shorter prompt",
        "author  A. Uthor, 2026-11-02",
        "before  8 of 9 passed, 89 % (95 % interval 59 % to 99 %)",
        "after   2 of 8 passed, 25 % (95 % interval 6 % to 59 %)",
        "spent   13 trials, 1 void, 4 reused; 4 builds; cost $0.42",
        "skipped: build = 'make': exit code 2",
        "→ git show 400000000000",
        "→ demeanor trace reads_first --run run-4 --against run-3",
        "note    a note",
    ):
        assert expected in text


def test_commits_that_can_not_be_distinguished_are_all_named() -> None:
    """As many as fit."""
    report = a_bisection()
    assert "Found: 200000000000 or 300000000000 or 400000000000 changed" in bisect_terminal(
        a_bisection(suspects=report.commits[1:4])
    )
    assert "… (4 commits) changed" in bisect_terminal(a_bisection(suspects=report.commits[1:5]), Screen(width=200))


@pytest.mark.parametrize(
    ("good", "bad", "advice"),
    [
        ((0, 9), (0, 9), "the good end fails too: choose an older commit for --good"),
        ((2, 9), (9, 2), "did you swap --good and --bad?"),
        ((9, 0), (9, 0), "may be outside of the repository"),
    ],
)
def test_ends_that_do_not_differ_come_with_advice(good: tuple[int, int], bad: tuple[int, int], advice: str) -> None:
    """It depends on their pass rates."""
    line = (found(1, 0.0, *good), found(2, 0.02, *bad))
    text = bisect_terminal(
        a_bisection(BisectOutcome.NO_DIFFERENCE, commits=line, suspects=line[1:], no_difference=0.98)
    )
    assert text.startswith("Good and bad do not differ (probability 98 %): ")
    assert f"{good[0]} of {sum(good)} passed at the good end" in text
    assert advice in text


def test_an_undecided_bisection_says_so() -> None:
    """With the most likely commit; or that probably nothing changed."""
    text = bisect_terminal(a_bisection(BisectOutcome.UNDECIDED, confidence=0.5))
    assert text.startswith("Undecided: 400000000000 is the most likely commit, at only 50 %")
    assert "run it again to continue" in text
    text = bisect_terminal(a_bisection(BisectOutcome.UNDECIDED, confidence=0.2, no_difference=0.6))
    assert text.startswith("Undecided: probably good and bad do not differ (60 %)")


def test_chances_are_drawn_as_bars() -> None:
    """One bar stands for several commits if there are many; only zero is blank."""
    assert chances_line([0.0, 0.002, 0.5, 1.0], Screen(width=80)) == "[ ▁▄█]"
    assert chances_line([0.0, 0.002, 0.5, 1.0], Screen(width=80, ascii=True)) == "[ .=@]"
    assert len(chances_line([0.001] * 500, Screen(width=300))) == 66
    assert chances_line([1.0], Screen()) == "[█]"
    line = progress_line([0.0, 0.1, 0.9], found(2, 0.1, 1, 2), found(3, 0.9), 7, Screen(width=80))
    assert line == "[▁█] 7 trials · 20000000 1/3 passed · most likely 30000000 90 %"
