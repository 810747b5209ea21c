"""One attempt as a job of Harbor's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.values.trial import Trial
from demeanor.plugins.harbor.environments.choice import EnvironmentChoice
from demeanor.plugins.harbor.trials.job import agent_config, job_config, max_seconds
from tests.helpers.harbor_tasks import greet, stepped, trial_of


def job(trial: Trial, place: str = "bubblewrap", **options: Any) -> dict[str, Any]:
    """The job of a trial."""
    assert trial.eval.task is not None
    agent = agent_config("oracle", model="", env={}, kwargs={})
    text = job_config(
        trial, trial.eval.task, environment=EnvironmentChoice(name=place), agent=agent, jobs="/jobs", options=options
    )  # fmt: skip
    found: dict[str, Any] = json.loads(text)
    return found


def test_harbor_is_asked_for_one_trial_and_no_retries(tmp_path: Path):
    """All of that is Demeanor's."""
    found = job(trial_of(greet(tmp_path / "greet")))
    assert (found["n_attempts"], found["n_concurrent_trials"], found["retry"]) == (1, 1, {"max_retries": 0})
    assert found["tasks"] == [{"path": str(tmp_path / "greet")}]
    assert found["agents"] == [{"name": "oracle", "model_name": None, "env": {}, "kwargs": {}}]
    assert (found["jobs_dir"], found["agent_timeout_multiplier"]) == ("/jobs", 1.0)


@pytest.mark.parametrize(
    ("place", "which"),
    [
        ("bubblewrap", {"import_path": "demeanor.plugins.harbor.inside:BubblewrapEnvironment"}),
        ("docker", {"type": "docker"}),
        ("mine:Environment", {"import_path": "mine:Environment"}),
    ],
)
def test_environments_are_named_as_harbor_does(tmp_path: Path, place: str, which: dict[str, str]):
    """Ours, Harbor's, and other people's."""
    found = job(trial_of(greet(tmp_path / "greet")), place, gateway="/socket")
    assert found["environment"] == {**which, "delete": True, "kwargs": {"gateway": "/socket"}}


def test_another_time_limit_stretches_the_tasks_own(tmp_path: Path):
    """All steps share it."""
    greeting, steps = greet(tmp_path / "greet"), stepped(tmp_path / "steps")
    assert job(trial_of(greeting, timeout=30))["agent_timeout_multiplier"] == 0.5
    assert job(trial_of(steps, timeout=60))["agent_timeout_multiplier"] == 0.5


def test_a_task_without_a_limit_gets_one(tmp_path: Path):
    """Harbor would wait for ever."""
    folder = greet(tmp_path / "greet")
    toml = folder / "task.toml"
    toml.write_text(toml.read_text().replace("timeout_sec = 60\n", "", 1))
    found = job(trial_of(folder, timeout=90))
    assert (found["agents"][0]["override_timeout_sec"], found["agent_timeout_multiplier"]) == (90, 1.0)


def test_harbor_itself_has_a_limit_beyond_all_of_its_own(tmp_path: Path):
    """Who reaches it is stuck."""
    trial = trial_of(greet(tmp_path / "greet"))
    assert trial.eval.task is not None
    assert max_seconds(trial, trial.eval.task) > 600 + 60 + 30


def test_an_agent_is_a_name_or_a_class():
    """As Harbor tells them apart."""
    assert agent_config("codex", model="m", env={}, kwargs={})["name"] == "codex"
    assert agent_config("acp:opencode@1", model="m", env={}, kwargs={})["name"] == "acp:opencode@1"
    assert agent_config("mine:Agent", model="m", env={}, kwargs={})["import_path"] == "mine:Agent"
