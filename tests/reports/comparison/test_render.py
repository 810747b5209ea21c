from __future__ import annotations

import json
from dataclasses import replace

import pytest

from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.policy import Policy
from demeanor.render.terminal import Screen
from demeanor.reports.comparison.render import compare_markdown, compare_terminal
from demeanor.reports.comparison.report import COMPARE_DOCUMENT, Side, compare_report
from tests.helpers.decision_reports import a_comparison, compare, side
from tests.helpers.histories import night


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_outcome_is_shown_and_no_line_is_too_long(width: int) -> None:
    """With the difference of the suite, and the evals that can't be compared."""
    text = compare_terminal(a_comparison(), Screen(width=width))
    assert max(map(len, text.splitlines())) <= width
    assert text.startswith("Regressed: 1 regressed, 1 improved, 1 no evidence, 1")
    for word in ("regressed     worse", "improved      better", "no evidence   same", "underpowered  little"):
        assert word in text
    assert "gone/a:m: only on the base" in text
    assert ("detectable: the smallest" in text) == ("detectable\n" in text)


def test_markdown_shows_the_same() -> None:
    """One row per eval."""
    text = compare_markdown(a_comparison())
    assert "| regressed | `worse` | usually | `a:m` | 30/30 | 10/30 |  | &lt;0.001 |" in text


def test_what_is_true_of_several_evals_is_noted_once_in_every_format() -> None:
    """Such as several versions of the subject on one side."""
    cells = [
        tuple(night(n, eval=name, fingerprint=f"f{n}") for name in ("x", "y") for n in numbers)
        for numbers in ((0, 1), (2,))
    ]
    base, new = (Side(name=name, kind="run", runs=("r",), cells=own) for name, own in zip("ab", cells, strict=True))
    report = compare_report(base, new, compare(base.cells, new.cells))
    told = "x, y: the base combines 2 versions of the subject (◆), with fingerprints f0, f1"
    assert " ".join(compare_terminal(report).split()).count(told) == 1
    assert compare_markdown(report).count("combines 2 versions") == 1


def test_nothing_to_compare_is_undecided_and_nothing_worse_is_accepted() -> None:
    """Neither is a regression."""
    base, new, other = side("a", "r1", same=(99, 1)), side("b", "r2", same=(99, 1)), side("c", "r3", another=(9, 1))
    assert compare_report(base, new, compare(base.cells, new.cells)).exit_code is ExitCode.ACCEPTED
    nothing = compare_report(base, other, compare(base.cells, other.cells))
    assert nothing.exit_code is ExitCode.UNDECIDED
    assert compare_terminal(nothing).startswith("Undecided: no eval can be compared")


def known_bad(name: str, run: str, passed: int, **scores: tuple[int, int]) -> Side:
    """A side with one more eval, `bad`, that is known to fail: `passed` of 30."""
    found = side(name, run, bad=(passed, 30 - passed), **scores)
    policies = {"bad": Policy.USUALLY_FAILS}
    return replace(found, cells=tuple(replace(c, policy=policies.get(c.eval, c.policy)) for c in found.cells))


def test_a_known_failure_that_got_worse_rejects_nothing() -> None:
    """It is shown, but never blocks; nor does it make other evals significant."""
    base, new = known_bad("a", "r1", 20, same=(99, 1)), known_bad("b", "r2", 0, same=(99, 1))
    report = compare_report(base, new, compare(base.cells, new.cells))
    assert report.exit_code is ExitCode.ACCEPTED
    assert report.summary == (
        "Not worse by 5 points on average: the mean pass rate may have fallen by up to 4.5 points; "
        "1 no evidence of 1 cell; 1 regressed of 1 known failure"
    )
    alone = compare((c for c in base.cells if c.eval == "same"), (c for c in new.cells if c.eval == "same"))
    assert [one.adjusted for one in report.comparison.evals if one.eval == "same"] == [alone.evals[0].adjusted]
    worse = known_bad("b", "r2", 0, same=(0, 10))
    assert compare_report(base, worse, compare(base.cells, worse.cells)).exit_code is ExitCode.REJECTED


def test_too_few_trials_are_undecided() -> None:
    """Three passes on each side do not exclude a regression."""
    base, new = side("a", "r1", same=(3, 0)), side("b", "r2", same=(3, 0))
    report = compare_report(base, new, compare(base.cells, new.cells))
    assert report.exit_code is ExitCode.UNDECIDED
    expected = (
        "Can't tell: the mean pass rate may have fallen by up to 56.1 points, and 5 are too many; "
        "about 418 trials per eval and side would show a drop of 5 points"
    )
    assert " ".join(compare_terminal(report).split()).startswith(expected)
    assert expected in compare_markdown(report)
    assert (report.summary, json.loads(COMPARE_DOCUMENT.write(report))["summary"]) == (expected, expected)


def test_not_worse_says_what_single_cells_could_hide() -> None:
    """Many evals with few trials each: the mean is known, and no single eval."""
    scores = {f"e{i}": (10, 0) for i in range(60)}
    base, new = side("a", "r1", **scores), side("b", "r2", **scores)
    report = compare_report(base, new, compare(base.cells, new.cells))
    assert report.exit_code is ExitCode.ACCEPTED
    assert report.summary.endswith("; single cells could hide more: 60 underpowered of 60 cells")


def test_a_doubt_about_a_single_cell_also_says_how_far_the_mean_may_have_fallen() -> None:
    """Though that alone would be accepted."""
    scores = {f"e{i}": (20, 0) for i in range(60)}
    sides = (
        ("1 cell looks worse", scores | {"e0": (16, 4)}),
        ("1 cell of the base could not be", {name: scores[name] for name in [*scores][1:]}),
    )
    for doubt, after in sides:
        base, new = side("a", "r1", **scores), side("b", "r2", **after)
        report = compare_report(base, new, compare(base.cells, new.cells))
        assert report.exit_code is ExitCode.UNDECIDED
        assert report.summary.startswith(f"Can't tell: {doubt}")
        assert "; the mean pass rate may have fallen by up to " in report.summary


def test_a_cell_that_is_not_compared_is_named_with_its_subject() -> None:
    """However long the name of its eval is."""
    cells = tuple(night(0, eval="long " * 30, subject=subject) for subject in ("a:m", "b:m"))
    base, new = (Side(name=name, kind="run", runs=("r",), cells=own) for name, own in (("a", cells), ("b", ())))
    text = " ".join(compare_terminal(compare_report(base, new, compare(base.cells, ()))).split())
    for subject in ("a:m", "b:m"):
        assert f"/{subject}: only on the base" in text
