"""`demeanor power`."""

from __future__ import annotations

import json

import pytest

from tests.helpers.project import Project


@pytest.mark.parametrize("width", ["60", "120"])
def test_it_fits_the_terminal(project: Project, width: str):
    """Narrow and wide, no line is longer than the terminal, and nothing that matters is left out."""
    project.env["COLUMNS"] = width
    shown = project.demeanor("power", "95%", "80%", "--evals", "50", "--trials", "7")
    assert shown.returncode == 0, shown.stderr
    assert all(len(line) <= int(width) for line in shown.stdout.splitlines())
    for text in (
        "33 trials",
        "67 trials",
        "optimal standard",
        "0.65 %",
        "screen",
        "classic",
        "sprt",
        "cusum",
        "0.73 %",
        "0.81 %",
        "suite of 50 evals",
    ):
        assert text in " ".join(shown.stdout.split()), text


def test_it_speaks_json(project: Project):
    """For programs, with all digits."""
    report = json.loads(project.demeanor("power", "0.95", "0.8", "--json").stdout)
    assert report["known"] == [33, 5]
    gate = {rule["rule"]: rule["rows"] for rule in report["gate"]}
    assert gate["classic"][0]["chance"] == pytest.approx(0.00725)
    (rule,) = json.loads(project.demeanor("power", "--rule", "screen", "--json").stdout)
    assert rule["action"] == "reject"


def test_it_plans_a_whole_gate(project: Project):
    """How often it blocks a healthy change, and what confirmation changes."""
    shown = project.demeanor("power", "--suite", "0", "--always", "150", "--json")
    plain, confirmed = (one["rates"] for one in json.loads(shown.stdout)["gates"])
    assert (round(plain["blocks"], 3), round(confirmed["blocks"], 2)) == (0.989, 0.12)
    assert confirmed["trials"] - plain["trials"] < 15
    text = project.demeanor("power", "--suite", "150", "--always", "20").stdout
    assert "A gate of 170 healthy cells" in text
    assert [word in text for word in ("lean", "standard", "thorough", "95 % → 50 %")] == [True] * 4


@pytest.mark.parametrize("name", ["classic", "seed"])
def test_a_rule_shows_its_error_rates(project: Project, name: str):
    """All rules of that name: of the gate, of promotion and of demotion. `seed` is the former name of `classic`."""
    shown = project.demeanor("power", "--rule", name).stdout
    assert [word in shown for word in ("classic", "rejects", "promotes", "demotes")] == [True] * 4


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["80%", "95%"], "TO must be lower than FROM"),
        (["95", "80"], "expected a rate between 0 and 1"),
        (["--rule", "sprr"], "did you mean 'sprt'?"),
        (["--level", "0.5", "--power", "0.5"], "guessing is as good"),
        (["--history", "4000"], "at most 400"),
        (["--always", "3"], "works only with --suite"),
        (["--suite", "0"], "the gate has no cells"),
    ],
)
def test_what_makes_no_sense_is_refused(project: Project, words: list[str], expected: str):
    """Exit code 2, with the remedy."""
    shown = project.demeanor("power", *words)
    assert shown.returncode == 2
    assert expected in shown.stderr
