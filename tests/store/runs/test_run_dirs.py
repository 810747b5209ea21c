"""The folder of all runs."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from demeanor.core.values.errors import UnknownName
from demeanor.core.values.record import RunInfo
from demeanor.core.values.trial import Plan
from demeanor.store.runs.run_dirs import find_run, list_runs, new_run, point_latest, run_name
from demeanor.store.runs.run_folder import RunFolder

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def a_run(results: Path, now: datetime = NOW) -> RunFolder:
    """A run that has started."""
    store = new_run(results, now)
    store.begin(RunInfo(id=store.folder.name, started=""), Plan(cells=()))
    point_latest(store.folder)
    return store


def test_two_runs_of_the_same_moment_have_different_names(tmp_path: Path):
    """Also on two machines, which do not know of each other: the end of the name is random."""
    first, second = a_run(tmp_path / "a"), a_run(tmp_path / "b")
    assert re.fullmatch("2026-01-02T03-04-05-00[0-9a-z]{3}", first.folder.name)
    assert first.folder.name != second.folder.name
    assert len({run_name(NOW) for _ in range(100)}) > 90


def test_names_sort_by_time(tmp_path: Path):
    """Also those of the same second."""
    made = [a_run(tmp_path, NOW + timedelta(milliseconds=ms)).folder for ms in (0, 1, 30, 500, 999, 1000, 2000)]
    assert list_runs(tmp_path) == made
    assert (tmp_path / "latest").resolve() == made[-1]


def test_a_run_is_found_by_name_by_path_and_as_latest(tmp_path: Path):
    """All three lead to the same folder."""
    first, second = a_run(tmp_path), a_run(tmp_path)
    assert find_run(tmp_path).folder == second.folder
    assert find_run(tmp_path, first.folder.name).folder == first.folder
    assert find_run(tmp_path / "elsewhere", str(first.folder)).folder == first.folder


def test_without_the_link_the_newest_run_is_the_latest(tmp_path: Path):
    """The folder may have been copied without it."""
    run = a_run(tmp_path)
    (tmp_path / "latest").unlink()
    assert find_run(tmp_path).folder == run.folder


def test_an_unknown_run_is_an_error_with_the_nearest_name(tmp_path: Path):
    """For typing errors."""
    name = a_run(tmp_path).folder.name
    with pytest.raises(UnknownName, match=f"did you mean '{name}'"):
        find_run(tmp_path, "2026-01-02T03-04-06")


def test_a_folder_called_latest_is_not_replaced(tmp_path: Path):
    """Only a link is."""
    (tmp_path / "latest").mkdir(parents=True)
    (tmp_path / "latest/mine.txt").write_text("x")
    a_run(tmp_path)
    assert (tmp_path / "latest/mine.txt").read_text() == "x"
