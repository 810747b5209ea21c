"""The Python API to stored results, and the examples of its page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import demeanor
from demeanor.core.values.errors import BadInput
from demeanor.core.values.trajectory import Called
from tests.helpers.project import Project

PAGE = Path(__file__).resolve().parents[1] / "docs/store.md"
EVALS = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def never_good_enough(rig, result):
    assert rig.workspace["other.txt"].text
"""
CONFIG = """\
subjects = ["native:scripted"]
trials = 2
attempts = 2
sandbox = "none"
[models.down]
provider = "down"
[providers.down]
base_url = "http://127.0.0.1:1/v1"
dialect = "openai-chat"
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with two runs: passes, fails, and voids that were tried again."""
    project = Project(tmp_path_factory.mktemp("api") / "project")
    project.write(evals__eval_a_py=EVALS, demeanor_toml=CONFIG)
    assert project.demeanor("run", "evals").returncode == 1
    assert project.demeanor("run", "evals", "-k", "saves", "--subject", "native:down").returncode == 3
    return project


def test_trials_have_three_verdicts(stored: Project) -> None:
    with demeanor.open_store(stored.folder) as store:
        runs = list(store.runs())
        verdicts = [(trial["run"], trial["eval"], trial["verdict"]) for trial in store.trials()]
        latest = list(store.trials(run="latest"))
        attempts = list(store.trials(run="latest", attempts=True))
    newest, oldest = (run["run"] for run in runs)
    assert sorted(verdicts) == sorted(
        [(newest, "saves_the_note", "void")] * 2
        + [(oldest, "saves_the_note", "pass")] * 2
        + [(oldest, "never_good_enough", "fail")] * 2
    )
    assert {trial["run"] for trial in latest} == {newest}
    assert [trial["attempt"] for trial in latest] == [2, 2]
    assert sorted(trial["attempt"] for trial in attempts) == [1, 1, 2, 2]
    assert {trial["cause"] for trial in latest} == {"provider"}


def test_filters_and_steps(stored: Project) -> None:
    with demeanor.open_store(stored.folder / "results/demeanor.db") as store:
        oldest = list(store.runs())[-1]["run"]
        (first, second) = store.trials(run=oldest, eval="saves_the_note", subject="native:scripted")
        calls = [step for step in store.trajectory(first) if isinstance(step, Called)]
    assert (first["trial"], second["trial"]) == (1, 2)
    assert [call.tool for call in calls] == ["write_file"]


def test_arrow_has_the_same_rows_one_batch_per_run(stored: Project) -> None:
    with demeanor.open_store(stored.folder) as store:
        rows = list(store.trials())
        batches = list(store.arrow())
    assert [batch.num_rows for batch in batches] == [2, 4]
    assert [row for batch in batches for row in batch.to_pylist()] == rows


@pytest.mark.parametrize("number", range(2))
def test_the_examples_of_the_page_work(stored: Project, number: int) -> None:
    examples = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert len(examples) == 2
    ran = subprocess.run(
        [sys.executable, "-c", examples[number]], cwd=stored.folder, env=stored.env, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (ran.returncode, "saves_the_note" in ran.stdout) == (0, True), ran.stderr


def test_a_place_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="nowhere: does not exist"):
        demeanor.open_store(tmp_path / "nowhere")


def test_latest_is_the_run_that_the_commands_take_for_it(tmp_path: Path) -> None:
    """This machine's latest run, also if the shared history has a newer one of another machine."""
    other = Project(tmp_path / "a/other")
    other.write(evals__eval_a_py=EVALS, demeanor_toml=CONFIG)
    shared = Project(tmp_path / "b/shared")
    shared.write(evals__eval_a_py=EVALS, demeanor_toml=CONFIG)
    assert shared.demeanor("run", "evals", "-k", "saves", "--trials", "1").returncode == 0
    (own,) = (shared.folder / "results").glob("2*")
    assert other.demeanor("run", "evals", "-k", "saves", "--trials", "1").returncode == 0
    newest = max((other.folder / "results").glob("2*"))
    assert shared.demeanor("store", "import", str(newest)).returncode == 0
    with demeanor.open_store(shared.folder) as store:
        assert next(store.runs())["run"] == newest.name
        assert {trial["run"] for trial in store.trials(run="latest")} == {own.name}
        assert {batch["run"] for batch in store.arrow(run="latest").read_all().to_pylist()} == {own.name}
