"""The folder of all runs."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from demeanor.core.errors import UnknownName
from demeanor.core.record import RunInfo
from demeanor.core.trial import Plan
from demeanor.store.runs.run_dirs import find_run, new_run, point_latest
from demeanor.store.runs.run_folder import RunFolder

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def a_run(results: Path) -> RunFolder:
    """A run that has started."""
    store = new_run(results, NOW)
    store.begin(RunInfo(id=store.folder.name, started=""), Plan(cells=()))
    point_latest(store.folder)
    return store


def test_two_runs_of_the_same_second_have_different_folders(tmp_path: Path):
    """The second gets a number."""
    first, second = a_run(tmp_path), a_run(tmp_path)
    assert first.folder.name == "2026-01-02T03-04-05"
    assert second.folder.name == "2026-01-02T03-04-05-2"
    assert (tmp_path / "latest").resolve() == second.folder


def test_a_run_is_found_by_name_by_path_and_as_latest(tmp_path: Path):
    """All three lead to the same folder."""
    first, second = a_run(tmp_path), a_run(tmp_path)
    assert find_run(tmp_path).folder == second.folder
    assert find_run(tmp_path, first.folder.name).folder == first.folder
    assert find_run(tmp_path / "elsewhere", str(first.folder)).folder == first.folder


def test_without_the_link_the_newest_run_is_the_latest(tmp_path: Path):
    """The folder may have been copied without it."""
    a_run(tmp_path)
    (tmp_path / "latest").unlink()
    assert find_run(tmp_path).folder.name == "2026-01-02T03-04-05"


def test_an_unknown_run_is_an_error_with_the_nearest_name(tmp_path: Path):
    """For typing errors."""
    a_run(tmp_path)
    with pytest.raises(UnknownName, match="did you mean '2026-01-02T03-04-05'"):
        find_run(tmp_path, "2026-01-02T03-04-06")


def test_a_folder_called_latest_is_not_replaced(tmp_path: Path):
    """Only a link is."""
    (tmp_path / "latest").mkdir(parents=True)
    (tmp_path / "latest/mine.txt").write_text("x")
    a_run(tmp_path)
    assert (tmp_path / "latest/mine.txt").read_text() == "x"
