"""Of a large run, only what a command needs is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from demeanor.config.config import read_config
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import RunInfo
from demeanor.core.values.trial import Plan, named_cell
from demeanor.results.find_trial import find_record
from demeanor.results.runs import find_stored_run
from demeanor.store.history.connect import FILE, open_database
from demeanor.store.history.run_writer import PlannedCell
from demeanor.store.runs.run_folder import RunFolder
from tests.helpers.runs import records, write

WHY = "only for other:m"
EVALS = ("saves", "saves/again", "asks")
CASES = {
    ("saves/a:m/1",): {"saves"},
    ("saves/again/a:m",): {"saves", "saves/again"},  # the second may be a subject
    ("saves",): {"saves", "saves/again"},
    ("asks/a:m/trial-2", "saves/again/"): {"asks", "saves", "saves/again"},
    ("unknown/a:m/1",): {*EVALS},
    (): {*EVALS},
}


@pytest.fixture(params=["folder", "history"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A run of three evals, on this machine or in the history only."""
    (tmp_path / "demeanor.toml").write_text("")
    results = tmp_path / "results"
    info = RunInfo(id="2026-11-16T01-00-00", started="2026-11-16T01:00:00+00:00", uid="1" * 16)
    found = [one for name in EVALS for one in records("pf", eval=name, subject="a:m")]
    if request.param == "history":
        database = open_database(str(results / FILE))
        write(database, info, found, [PlannedCell(eval="waits", subject="a:m", skipped=WHY)])
        database.close()
        return tmp_path
    folder = RunFolder(results / info.id)
    cells = [named_cell(name, "a:m", policy=Policy.USUALLY_PASSES, trials=2) for name in EVALS]
    cells.append(named_cell("waits", "a:m", policy=Policy.USUALLY_PASSES, trials=0, skipped=WHY))
    folder.begin(info, Plan(cells=tuple(cells)))
    for one in found:
        folder.append(one, Capture(trial=one.trial, attempt=1), Evidence(trial=one.trial))
    folder.close()
    return tmp_path


@pytest.mark.parametrize("trials", CASES)
def test_only_the_evals_of_the_named_trials_are_read(project: Path, trials: tuple[str, ...]) -> None:
    """All of them if none is named, or a name fits no cell: then a message can list what there is."""
    run = find_stored_run("2026-11-16T01-00-00", project / "results", read_config(project), {}, trials=trials)
    assert {record.eval for record in run.records} == CASES[trials]
    assert len(run.records) == 2 * len(CASES[trials])
    assert set(run.cells) == {f"{name}/a:m" for name in (*EVALS, "waits")}


def test_a_trial_of_a_skipped_cell_is_not_just_unknown(project: Path) -> None:
    """Its name says why there is none; another name lists what there is."""
    run = find_stored_run("2026-11-16T01-00-00", project / "results", read_config(project), {})
    for name in ("waits", "waits/a:m", "waits/a:m/1"):
        with pytest.raises(UsageError, match=rf"^waits/a:m was skipped: {WHY}$"):
            find_record(run, name)
    with pytest.raises(UnknownName, match=r"unknown trial 'wait'\n  → did you mean 'waits/a:m'"):
        find_record(run, "wait")
