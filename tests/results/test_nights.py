"""Which nightly runs count as nights, and which of their cells."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.config.config import read_config
from demeanor.core.values.history import Night, PastRun
from demeanor.core.values.record import RunInfo
from demeanor.results.nights import NightFilter, count_nights, night_filter
from tests.vcs.test_commit_range import Repository

MAIN = NightFilter(in_repository=True, branch="main")


def run(name: str, started: str = "2026-01-01T01:00:00+00:00", **more: object) -> PastRun:
    info = RunInfo(id=name, started=started, kind="nightly", commit="c1", branch="main", dirty=False)
    return PastRun(info=replace(info, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"branch": "feature"}, "on branch feature"),
        ({"branch": None}, "on no branch (detached HEAD)"),
        ({"dirty": True}, "with uncommitted changes"),
        ({"dirty": None, "commit": None, "branch": None}, "without a commit"),
    ],
)
def test_a_night_is_a_clean_run_on_the_default_branch(more: dict[str, object], reason: str) -> None:
    """The others are counted by reason."""
    found = count_nights([run("a"), run("b", **more)], MAIN)
    assert [night.name for night in found.nights] == ["a"]
    assert found.ignored == {reason: 1}
    assert found.notes == (f"1 nightly run not counted: 1 {reason}; nights are clean runs on main",)


def test_the_runs_of_one_calendar_day_are_one_night() -> None:
    """The last one stands for it."""
    second = "2026-01-02T"
    runs = [run("a"), run("b", f"{second}01:00:00+00:00"), run("c", f"{second}23:59:59+00:00")]
    found = count_nights(runs, MAIN)
    assert [night.name for night in found.nights] == ["a", "c"]
    assert found.notes == ()


def test_every_night_counts_outside_a_repository(tmp_path: Path) -> None:
    """There are no branches to compare."""
    rules = night_filter(read_config(tmp_path))
    assert (rules.in_repository, rules.needed(None)) == (False, 2)
    odd = run("a", commit=None, branch=None, dirty=None)
    assert count_nights([odd], rules).nights == (Night(runs=(odd,)),)


@pytest.mark.parametrize(
    ("config", "branches", "expected"),
    [
        ("", ["main", "other"], "main"),
        ("", ["master", "other"], "master"),
        ("", ["trunk"], "trunk"),
        ("", ["trunk", "other"], None),
        ('[nightly]\nbranch = "release"\n', ["main"], "release"),
    ],
)
def test_the_branch_of_nights(tmp_path: Path, config: str, branches: list[str], expected: str | None) -> None:
    """As configured, or else the default branch of the repository."""
    (tmp_path / "demeanor.toml").write_text(config)
    repository = Repository(tmp_path)
    repository.commit("one")
    for branch in branches:
        repository.git("checkout", "--quiet", "-B", branch)
    if "main" not in branches:
        repository.git("branch", "--quiet", "-D", "main")
    assert night_filter(read_config(tmp_path)).branch == expected


def test_without_a_known_branch_nothing_counts() -> None:
    """The note has the remedy."""
    found = count_nights([run("a")], NightFilter(in_repository=True, branch=None))
    assert found.nights == ()
    assert "set `branch` in [nightly]" in found.notes[0]


def test_a_cell_needs_two_thirds_of_its_trials_or_the_configured_number(tmp_path: Path) -> None:
    """The configured number is limited by the number of trials."""
    (tmp_path / "demeanor.toml").write_text("trials = 5\n[nightly]\ntrials = 6\n")
    assert night_filter(read_config(tmp_path)).needed(None) == 4
    (tmp_path / "demeanor.toml").write_text("trials = 5\n[nightly]\nmin_trials = 9\n")
    assert night_filter(read_config(tmp_path)).needed(None) == 5
    (tmp_path / "demeanor.toml").write_text("trials = 5\n[nightly]\nmin_trials = 1\n")
    assert night_filter(read_config(tmp_path)).needed(None) == 1
