"""Recording and replaying cassettes; whole runs are in tests/journeys/test_replay.py."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from demeanor.config.config import Config
from demeanor.core.values.run_request import RunRequest
from demeanor.runner.cassettes import cassette_notes, cassette_problems, recorder
from demeanor.runner.catalog import Catalog


def test_nothing_is_recorded_unless_the_request_asks_for_it(tmp_path: Path):
    """A request with a folder gets a recorder."""
    catalog = Catalog(config=Config(root=tmp_path), environ={})
    assert recorder(catalog, RunRequest()) is None
    assert recorder(catalog, RunRequest(record=str(tmp_path / "cassettes"))) is not None


def test_a_project_without_cassettes_has_no_problems(tmp_path: Path):
    """The folder need not exist."""
    assert cassette_problems(Catalog(config=Config(root=tmp_path), environ={}), ()) == ()


def test_notes_say_where_answers_come_from_or_go_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Relative to the current folder, and with what could not be recorded."""
    monkeypatch.chdir(tmp_path)
    folder = str(tmp_path / "tapes")
    recorded: Any = SimpleNamespace(written=["e/a/2"], problems=["e/a/1 was not recorded"])
    failed: Any = SimpleNamespace(written=[], problems=["e/a/1 was not recorded"])
    assert cassette_notes(RunRequest(), None) == ()
    assert cassette_notes(RunRequest(replay=folder), None) == (
        "replayed from tapes: no model was asked, nothing was spent",
    )
    assert cassette_notes(RunRequest(record=folder), recorded) == ("recorded in tapes", "e/a/1 was not recorded")
    assert cassette_notes(RunRequest(record=folder), failed) == (
        "nothing was recorded in tapes",
        "e/a/1 was not recorded",
    )
