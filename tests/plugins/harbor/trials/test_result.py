"""What Harbor left of one trial; the folders in `jobs/` were written by the real Harbor 0.24.0."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from demeanor.core.values.trajectory import Said
from demeanor.core.values.verdict import VoidCause
from demeanor.core.values.whole_task import VERIFIER_OUTPUT
from demeanor.plugins.harbor.trials.result import NoTrial, TrialFolder, read_trial

JOBS = Path(__file__).parent / "jobs"


def trial(name: str, jobs: Path = JOBS) -> TrialFolder:
    """The trial of a job."""
    found = read_trial(jobs / name)
    assert isinstance(found, TrialFolder)
    return found


@pytest.fixture
def copied(tmp_path: Path) -> TrialFolder:
    """A trial's folder that may be spoiled."""
    shutil.copytree(JOBS / "greet", tmp_path / "greet")
    return trial("greet", tmp_path)


def test_a_reward_and_what_else_is_known():
    """How long the agent worked, and its version."""
    found = trial("greet")
    assert (found.outcome.rewards, found.outcome.failure) == ({"reward": 1.0}, None)
    assert found.version == "1.0.0"
    assert 0 < found.agent_seconds < 60
    assert found.agent_ended is not None


def test_the_reward_of_an_agent_that_ran_out_of_time_counts():
    """It was its own time."""
    found = trial("slow")
    assert (found.outcome.rewards, found.outcome.failure) == ({"reward": 1.0}, None)
    assert str(found.outcome.agent_error) == "AgentTimeoutError: Agent execution timed out after 2.0 seconds"


def test_no_reward_and_no_environment_are_void():
    """Each with its cause."""
    missing, unbuilt = trial("missing").outcome.failure, trial("unbuilt").outcome.failure
    assert missing is not None
    assert (missing[0], missing[1][:23]) == (VoidCause.VERIFIER, "RewardFileNotFoundError")
    assert unbuilt is not None
    assert (unbuilt[0], "no such luck" in unbuilt[1]) == (VoidCause.SANDBOX, True)


def test_all_rewards_are_kept():
    """Those of `reward.json`, and those of steps."""
    assert trial("rich").outcome.rewards == {"reward": 0.5, "tests": 2.0, "style": 1.0}
    steps = trial("steps")
    assert steps.outcome.step_rewards == {"first": {"reward": 1.0}, "second": {"reward": 1.0}}
    assert steps.steps == ("steps/first/", "steps/second/")


def test_logs_are_kept_by_their_paths():
    """The verifier's of each step too."""
    assert trial("rich").files()[VERIFIER_OUTPUT].text == "two of four passed\n"
    assert "steps/second/verifier/test-stdout.txt" in trial("steps").files()


def test_a_trajectory_is_read_step_by_step(copied: TrialFolder):
    """As Harbor wrote it; one that is no JSON tells nothing."""
    place = copied.folder / "agent/trajectory.json"
    place.write_text(json.dumps({"steps": [{"source": "agent", "message": "done"}]}))
    assert copied.events({}) == (Said(turn=1, text="done"),)
    place.write_text("{")
    assert copied.events({}) == ()


def test_links_lead_nowhere_and_giants_are_cut(copied: TrialFolder, tmp_path: Path):
    """Whatever an agent left among its logs."""
    (tmp_path / "secret").write_text("of somebody else")
    logs = copied.folder / "agent"
    (logs / "link.txt").symlink_to(tmp_path / "secret")
    (logs / "folder").symlink_to(tmp_path)
    os.mkfifo(logs / "pipe")
    (logs / "deep/er").mkdir(parents=True)
    (logs / "deep/er/log.txt").write_text("kept")
    (logs / "bad\nname.txt").write_text("not kept")
    with (logs / "giant.txt").open("wb") as giant:
        giant.write(b"first")
        giant.truncate(2**30)
    found = copied.files()
    names = {path for path in found if path.startswith("agent/")}
    assert names == {"agent/deep/er/log.txt", "agent/giant.txt"}
    assert len(found["agent/giant.txt"].text) < 2**20
    assert found["agent/giant.txt"].truncated


def test_many_files_are_kept_up_to_a_number(copied: TrialFolder):
    """The rest is left."""
    for number in range(500):
        (copied.folder / f"agent/{number}.txt").write_text("x")
    assert 100 < len(copied.files()) <= 210


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '"x"'])
def test_an_unreadable_result_is_reported(copied: TrialFolder, content: str):
    """It is no zero."""
    (copied.folder / "result.json").write_text(content)
    found = read_trial(copied.folder.parents[1])
    assert isinstance(found, NoTrial)


def test_no_trial_or_several_are_reported(copied: TrialFolder, tmp_path: Path):
    """There was to be exactly one."""
    shutil.copytree(copied.folder, copied.folder.with_name("another"))
    several, none = read_trial(tmp_path / "greet"), read_trial(tmp_path / "nothing")
    assert isinstance(several, NoTrial)
    assert several.why == "it left several results"
    assert isinstance(none, NoTrial)
    assert none.why == "it left no result"


def test_strange_steps_and_times_are_left_out(copied: TrialFolder):
    """A step's name leads nowhere."""
    data = {
        "step_results": [{"step_name": "../../etc"}, 3, {"step_name": 4, "agent_execution": {"started_at": "x"}}],
        "agent_execution": {"started_at": 1, "finished_at": None},
        "agent_info": {"version": ["x"]},
    }
    found = TrialFolder(folder=copied.folder, data=data)
    assert (found.steps, found.agent_seconds, found.agent_ended, found.version) == (("",), 0.0, None, None)
