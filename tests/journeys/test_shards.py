"""A night and a gate in shards, as jobs of a matrix and a last one start them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.helpers.project import Project

EVALS = """\
from demeanor import ALWAYS_PASSES, USUALLY_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy tea' in notes.txt.")
def saves_another_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text

@eval_test(USUALLY_PASSES, prompt="Open a pull request.", requires_env=["NOBODY_HAS_THIS"])
def opens_a_pull_request(rig, result):
    assert result
"""
SCRIPT = """\
def play(turn):
    if turn.done:
        return "Saved."
    return turn.call("edit", path="notes.txt", content="buy milk\\n")
"""
IMPORTS = "from demeanor import USUALLY_PASSES, eval_test\n"
EVAL_OF_CHANCE = """

@eval_test(USUALLY_PASSES, prompt="Save note {number}.")
def saves_{number}(rig, result):
    assert "milk" in rig.workspace["notes.txt"].text
"""
SCRIPT_OF_CHANCE = SCRIPT.replace('"buy milk\\n"', '"milk" if turn.chance(0.6) else "tea"')
CONFIG = 'subjects = ["native:m"]\nsandbox = "none"\n[models.m]\nscript = "m.py"\n'


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Three shards of a night, each with results of its own, as on machines of their own."""
    project = Project(tmp_path_factory.mktemp("shards") / "project")
    project.write(evals__eval_notes_py=EVALS, m_py=SCRIPT, demeanor_toml=CONFIG)
    for number in (1, 2, 3):
        done = project.demeanor("nightly", "--shard", f"{number}/3", "--results", f"shards/{number}")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith(f"shard {number}/3: 2 trials of 6\n2 passed, 0 failed, 0 void\nno verdict")
    assert not list(project.folder.rglob("demeanor.db")), "a shard is in no history"
    return project


def test_shards_of_a_night_are_joined_into_one_run_with_one_verdict(sharded: Project):
    """The report is that of the run, with the trials of all shards; the night is in the history once."""
    joined = sharded.demeanor("store", "import", "shards", "--results", "whole")
    assert joined.returncode == 0, joined.stderr
    assert joined.stdout.startswith("Accepted: both evals hold\n")
    assert "6 of 6 judged: 6 passed" in joined.stdout
    night = json.loads(sharded.demeanor("report", "--results", "whole", "--format", "json").stdout)
    assert (night["verdict"], night["run"]["kind"], len(night["nights"])) == ("accepted", "nightly", 1)
    assert [row["tally"]["passed"] for row in night["subjects"][0]["rows"]][:2] == [3, 3]
    shutil.copytree(sharded.folder / "shards", sharded.folder / "whole" / "shards")
    again = sharded.demeanor("store", "import", "whole", "--results", "whole")
    assert "already there" in again.stdout, "the folder of a whole run is imported, without the shards beside it"
    traced = sharded.demeanor("trace", "saves_the_note/native:m/3", "--results", "whole")
    assert "buy milk" in traced.stdout, "captures and steps came with their trials"


def test_a_shard_that_is_missing_leaves_the_night_undecided_until_it_is_there(sharded: Project):
    """It is named, wherever the night is shown; the missing trials can be run afterwards."""
    joined = sharded.demeanor("store", "import", "shards/1", "shards/3", "--results", "part")
    assert joined.returncode == 3
    assert joined.stdout.startswith("Undecided: shard 2/3 is missing, 2 trials not run\n")
    night = json.loads(sharded.demeanor("report", "--results", "part", "--format", "json").stdout)
    assert night["verdict"] == "undecided"
    assert night["reason"].startswith("shard 2/3 is missing")
    resumed = sharded.demeanor("nightly", "--resume", "--results", "part")
    assert resumed.returncode == 0, resumed.stderr
    assert "6 of 6 judged" in resumed.stdout
    assert (
        json.loads(sharded.demeanor("report", "--results", "part", "--format", "json").stdout)["verdict"] == "accepted"
    )


def test_a_shard_is_no_run_of_its_own(sharded: Project):
    """It is refused where it would decide something alone, or be something else."""
    (one,) = (sharded.folder / "shards/1/shards").iterdir()
    for words, problem in {
        ("gate", "--shard", str(one)): "is a shard of `demeanor run`",
        ("run", "--shard", "4/3"): "'4/3' is not a part K/N of the trials",
        ("nightly", "--shard", "1/3", "--junit", "junit.xml"): "a shard has no verdict",
        ("store", "import", str(one), "--kind", "ci"): "shards are joined as they are",
    }.items():
        done = sharded.demeanor(*words)
        assert (done.returncode, problem in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("words", [("run", "--policy", "all"), ("nightly", "--shard", "1/2")])
def test_a_missing_program_is_an_error_before_anything_runs(tmp_path: Path, words: tuple[str, ...]):
    """Also on the machine of a shard, where its trials would only be void."""
    project = Project(tmp_path / "project")
    agent = '[agents.mine]\nadapter = "command"\ncommand = ["./agent.sh", "{prompt}"]\n'
    project.write(evals__eval_notes_py=EVALS, demeanor_toml=f'subjects = ["mine"]\nsandbox = "none"\n{agent}')
    done = project.demeanor(*words)
    assert (done.returncode, "agent.sh" in done.stderr) == (2, True), done.stdout
    assert not list(project.folder.rglob("run.json"))


def test_a_gate_in_shards_decides_as_alone(tmp_path: Path):
    """The first round runs in shards; a cell that it leaves open gets its trials in the last job."""
    project = Project(tmp_path / "project")
    evals = "".join(EVAL_OF_CHANCE.format(number=number) for number in range(4))
    project.write(evals__eval_chance_py=IMPORTS + evals, m_py=SCRIPT_OF_CHANCE, demeanor_toml=CONFIG)
    alone = project.demeanor("gate", "--policy", "all", "--json", "--seed", "3", "--results", "alone")
    first = 0
    for number in (1, 2):
        done = project.demeanor("gate", "--policy", "all", "--seed", "3", "--shard", f"{number}/2", "--json")
        assert done.returncode == 0, done.stderr
        first += json.loads(done.stdout)["trials"]
    joined = project.demeanor("gate", "--policy", "all", "--json", "--seed", "3", "--shard", "results/shards")
    assert joined.returncode == alone.returncode, joined.stderr
    rows = [json.loads(done.stdout)["rows"] for done in (alone, joined)]
    assert rows[0] == rows[1]
    assert first == 8 < sum(row["passed"] + row["failed"] for row in rows[0]), "a second round was needed"
    one = sorted((project.folder / "results/shards").iterdir())[0]
    lost = project.demeanor("gate", "--policy", "all", "--seed", "3", "--shard", str(one))
    assert lost.returncode == 3
    assert "shard 2/2 is missing" in lost.stdout.splitlines()[0]
