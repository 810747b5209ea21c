"""The layer of each cell in the history: 2 for a behaviour, 3 for a whole task."""

from __future__ import annotations

from pathlib import Path

from demeanor.store.history import SqlHistory, open_history
from demeanor.store.history.copy import copy_runs
from demeanor.store.history.run_writer import PlannedCell
from tests.helpers.runs import a_run, records, write

TASK = PlannedCell(eval="builds", subject="a:m", layer=3)


def layers(history: SqlHistory, run: str = "night-1") -> dict[str, int]:
    """The layer of each eval of a run."""
    return {cell.eval: cell.layer for cell in history.cells(run)}


def test_the_layer_of_a_cell_is_stored_and_copied(history: SqlHistory, tmp_path: Path) -> None:
    """Also of one that was never tried, and to another database."""
    write(history.database, a_run(), records("p"), [TASK])
    assert layers(history) == {"builds": 3, "saves": 2}
    with open_history(str(tmp_path / "copy.db")) as other:
        assert len(list(copy_runs(history, other))) == 1
        assert layers(other) == {"builds": 3, "saves": 2}
