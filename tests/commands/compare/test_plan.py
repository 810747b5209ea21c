"""`demeanor compare --plan`: how many trials detect a drop, and the smallest drop that they detect."""

from __future__ import annotations

import json

import pytest
from tests.helpers.project import Project

from demeanor.commands.compare.plan import comparison_plan
from demeanor.statistics.power import region_of


@pytest.mark.parametrize("width", ["60", "120"])
def test_it_fits_the_terminal(project: Project, width: str) -> None:
    """Narrow and wide, no line is longer than the terminal, and nothing that matters is left out."""
    project.env["COLUMNS"] = width
    shown = project.demeanor("compare", "--plan", "95%", "80%", "--trials", "7")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert all(len(line) <= int(width) for line in lines)
    for text in (
        "from 95 % to 80 %",
        "each side of a comparison: 61 trials",
        "33 trials, of which 5 fail",
        "known rate",
    ):
        assert text in " ".join(shown.stdout.split()), text
    assert [line.split()[0] for line in lines[-7:]] == ["3", "5", "7", "10", "20", "50", "100"]


def test_it_speaks_json(project: Project) -> None:
    """For programs, with all digits; 95 % and 80 % are the default."""
    report = json.loads(project.demeanor("compare", "--plan", "--json").stdout)
    assert report["schema"] == "demeanor-comparison-plan/1"
    assert (report["base"], report["new"], report["each_side"], report["exact"]) == (0.95, 0.8, 61, True)
    assert report["known_rate"] == {"trials": 33, "fails": 5}


def test_the_planned_trials_detect_the_drop_and_fewer_do_not() -> None:
    """By the test that a comparison uses."""
    trials = comparison_plan(0.9, 0.5).each_side
    assert region_of("boschloo", trials, trials, 0.05).chance(0.9, 0.5) >= 0.8
    assert region_of("boschloo", trials - 1, trials - 1, 0.05).chance(0.9, 0.5) < 0.8


def test_a_drop_that_takes_many_trials_is_planned_by_a_faster_test() -> None:
    """Which needs slightly more; thousands are approximated."""
    assert (comparison_plan(0.9, 0.8).each_side, comparison_plan(0.9, 0.8).exact) == (173, True)
    assert (comparison_plan(0.95, 0.93).each_side, comparison_plan(0.95, 0.93).exact) == (1743, False)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["80%", "95%"], "the second rate must be lower"),
        (["95", "80"], "expected two rates"),
        (["95%"], "expected two rates"),
        (["main", "feature"], "expected two rates"),
        (["--base", "main"], "--base does not go with --plan"),
        (["-k", "notes"], "-k does not go with --plan"),
    ],
)
def test_what_makes_no_sense_is_refused(project: Project, words: list[str], expected: str) -> None:
    """Exit code 2, with the remedy."""
    shown = project.demeanor("compare", "--plan", *words)
    assert shown.returncode == 2
    assert expected in shown.stderr
