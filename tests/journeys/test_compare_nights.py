"""`demeanor compare` with stored nights: a fall is not hidden by evals with few trials, nor by those that hold."""

from __future__ import annotations

import json

import pytest

from demeanor.store.history import open_history
from tests.helpers.project import Project
from tests.helpers.runs import nights as stored_nights


@pytest.fixture
def nights(project: Project) -> Project:
    """Fourteen nights of twenty evals with three trials each; one eval fails since the eighth night."""
    project.write(demeanor_toml='subjects = ["a:m"]\n')
    (project.folder / "results").mkdir()
    letters = {f"e{number}": "ppp " * 14 for number in range(1, 20)}
    with open_history(str(project.folder / "results" / "demeanor.db")) as history:
        stored_nights(history.database, e0="ppp " * 7 + "fff " * 7, **letters)
    return project


def test_two_nights_can_not_tell_and_two_stretches_can(nights: Project) -> None:
    """In every format; the report of the night proposes the stretches."""
    for words in (("--format", "json"), ("--format", "markdown"), ()):
        done = nights.demeanor("compare", "night-7", "night-8", *words)
        assert done.returncode == 3, done.stdout + done.stderr
        assert "Can't tell: 1 cell looks worse; " in done.stdout
        assert "No regression" not in done.stdout
    found = json.loads(nights.demeanor("compare", "night-7", "night-8", "--json").stdout)
    assert (found["exit_code"], found["counts"]["suspicious"]) == (3, 1)
    report = nights.demeanor("report").stdout
    assert "demeanor compare ..night-7 night-8.." in report
    done = nights.demeanor("compare", "..night-7", "night-8..", "--json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    first = found["comparison"]["evals"][0]
    assert (first["eval"], first["outcome"], first["base"], first["new"]) == ("e0", "regressed", [21, 21], [0, 21])
    for side, span in (("base", range(1, 8)), ("new", range(8, 15))):
        assert found[side]["kind"] == "nights"
        assert found[side]["runs"] == [f"night-{number}" for number in span]


def test_a_fall_of_the_whole_suite_is_a_regression_though_no_cell_shows_it(project: Project) -> None:
    """Fifty evals, all ten points down at ten trials each; without a fall it says how large one could be hidden."""
    project.write(demeanor_toml='subjects = ["a:m"]\n')
    (project.folder / "results").mkdir()
    with open_history(str(project.folder / "results" / "demeanor.db")) as history:
        good, worse = "p" * 9 + "f", "p" * 8 + "ff"
        stored_nights(history.database, **{f"e{number}": f"{good} {worse} {good}" for number in range(50)})
    for new, code, answer in (("night-2", 1, "Regressed"), ("night-3", 0, "Not worse by 5 points")):
        done = project.demeanor("compare", "night-1", new, COLUMNS="200")
        assert (done.returncode, done.stdout.startswith(answer)) == (code, True), done.stdout[:300]
        assert "No regression" not in done.stdout


def test_a_stretch_has_a_first_and_a_last_night(nights: Project) -> None:
    """Seven of them unless told otherwise; all between two that are named."""
    for side, options, runs in (
        ("..night-5", (), range(1, 6)),
        ("..night-13", ("--last", "2"), range(12, 14)),
        ("night-3..", ("--last", "3"), range(3, 6)),
        ("night-2..night-12", (), range(2, 13)),
    ):
        done = nights.demeanor("compare", side, "night-14", *options, "--json", "--allow-identical")
        assert json.loads(done.stdout)["base"]["runs"] == [f"night-{number}" for number in runs]
    refused = nights.demeanor("compare", "..night-99", "night-14")
    assert (refused.returncode, "'..night-99' is not a run, stretch of nights" in refused.stderr) == (2, True)
