"""The layer of each cell in the history: 2 for a behaviour, 3 for a whole task."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.core.codec import encode
from demeanor.core.verdict import Fail, Finding, Pass
from demeanor.store.history import SqlHistory, open_history
from demeanor.store.history.connect import open_database
from demeanor.store.history.copy import copy_runs
from demeanor.store.history.run_writer import PlannedCell, RunWriter, WrittenRecord
from demeanor.store.runs.run_folder import SCHEMA, RunFolder
from demeanor.store.runs.sync import planned_cells_of
from tests.helpers.runs import VOIDED, a_run, record, records, write

TASK = PlannedCell(eval="builds", subject="a:m", layer=3)


def checked(title: str) -> list[WrittenRecord]:
    """An attempt of an eval that is called like its only check."""
    verdict = Pass(findings=(Finding(check=title, answer="yes"),))
    return [WrittenRecord(record=record(1, verdict, eval=title))]


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


@pytest.mark.parametrize(
    ("title", "layer"),
    [
        ("reward at least 1", 3),
        ("tests_passed at least 0.5", 3),
        ("saves_the_file", 2),
        ("judge Does it name at least one cause?", 2),
        ("judge at least once?", 2),
        ("command_succeeds at least 1", 2),
        ("file_contains a.txt", 2),
    ],
)
def test_a_history_from_before_layers_gets_them(address: str, title: str, layer: int) -> None:
    """By the check of an eval; nights of a task without a verdict have the same layer as the others."""
    database = open_database(address)
    RunWriter(database, a_run()).write((), checked(title))
    write(database, a_run(2), [record(1, VOIDED, eval=title)])
    RunWriter(database, a_run(3), origin="harbor").write((), [WrittenRecord(record=record(1, VOIDED, eval="job"))])
    database.rows("ALTER TABLE cells DROP COLUMN layer")
    database.rows("DELETE FROM migrations WHERE name LIKE '0004%'")
    database.close()
    with open_history(address) as history:
        assert layers(history) == layers(history, "night-2") == {title: layer}
        assert layers(history, "night-3") == {"job": 3}


def test_the_folder_of_an_older_run_is_read_with_its_layers(tmp_path: Path) -> None:
    """Its run.json has none; the checks of its attempts tell them."""
    failed = Fail(findings=(Finding(check="reward at least 1", answer="no"),))
    made = [replace(record(1, failed), eval="builds"), record(1)]
    cells = [{"eval": one.eval, "subject": one.subject, "trials": 1} for one in made]
    (tmp_path / "run.json").write_text(json.dumps({"schema": SCHEMA, "run": encode(a_run()), "cells": cells}))
    run = RunFolder(tmp_path)
    assert {cell.eval: cell.layer for cell in planned_cells_of(run, made)} == {"builds": 3, "saves": 2}
    (tmp_path / "run.json").write_text(
        json.dumps({"schema": SCHEMA, "run": encode(a_run()), "cells": [{**cells[1], "layer": 3}]})
    )
    assert [cell.layer for cell in planned_cells_of(RunFolder(tmp_path), made)] == [3]
