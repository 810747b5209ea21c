"""Results that are kept in the history, and what they follow from."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.core.values.record import RunInfo
from demeanor.store.history import derived as kept, open_history
from demeanor.store.history.derived import keep_derived, read_derived, run_states
from demeanor.store.history.run_writer import PlannedCell, RunWriter, WrittenRecord
from tests.helpers.runs import records

RUN = RunInfo(id="night-1", started="2026-01-01T03:00:00+00:00", uid="1" * 16, kind="nightly")


def test_every_write_to_a_run_changes_its_state(tmp_path: Path) -> None:
    """New cells and new attempts count; the same ones again do not."""
    with open_history(str(tmp_path / "history.db")) as history:
        writer = RunWriter(history.database, RUN)
        states = []
        found = [WrittenRecord(record=one) for one in records("pf", eval="one", subject="a:m")]
        for cells, attempts in (
            ((PlannedCell(eval="one", subject="a:m"),), ()),
            ((), found[:1]),
            ((), found),
            ((), found),
        ):
            writer.write(cells, attempts)
            states.append(run_states(history, ["night-1"])["night-1"])
        assert len({*states}) == 3
        assert states[2] == states[3]
        assert [run.cells for run in history.runs()] == [1]
        RunWriter(history.database, RUN).write((PlannedCell(eval="two", subject="a:m"),), ())
        assert run_states(history, ["night-1", "unknown"])["night-1"] > states[3]


def test_a_result_is_found_by_its_key_only(tmp_path: Path) -> None:
    """Another key, another result; the first one that is stored stays."""
    with open_history(str(tmp_path / "history.db")) as history:
        assert read_derived(history, "a", [1, 2]) is None
        keep_derived(history, {"x": [1]}, "a", [1, 2])
        keep_derived(history, {"x": [2]}, "a", [1, 2])
        assert read_derived(history, "a", [1, 2]) == {"x": [1]}
        assert read_derived(history, "a", [1, 3]) is None


def test_old_results_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table does not grow with the nights."""
    monkeypatch.setattr(kept, "_KEPT", 3)
    with open_history(str(tmp_path / "history.db")) as history:
        for number in range(5):
            keep_derived(history, number, number)
        assert len(history.query("SELECT * FROM derived")) == 3
        assert read_derived(history, 4) == 4


def test_a_history_that_cannot_be_written_to_is_not_an_error(tmp_path: Path) -> None:
    """A reader without the right to write calculates each time."""
    with open_history(str(tmp_path / "history.db")) as history:
        history.query("PRAGMA query_only = ON")
        keep_derived(history, 1, "a")
        assert read_derived(history, "a") is None
