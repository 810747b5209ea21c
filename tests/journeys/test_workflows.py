"""The generated GitHub workflows, step by step: every night is kept whatever its verdict, and the gate uses them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.helpers.project import Project
from tests.helpers.workflow_runner import WorkflowRunner

ACTION = Path(__file__).resolve().parents[2] / "action.yml"
NIGHTLY, PULL_REQUEST = "evals-nightly.yml", "evals-pull-request.yml"
EVALS = """\
from demeanor import USUALLY_PASSES, ALWAYS_PASSES, eval_test

def saves(stage):
    (stage.workspace / "a.txt").write_text("1")

@eval_test(ALWAYS_PASSES, prompt="write", passes_on=saves)
def writes(rig, result):
    assert rig.workspace["a.txt"].text == "1"
"""
GOOD, BAD = '["sh", "-c", "echo -n 1 > a.txt", "{prompt}"]', '["true", "{prompt}"]'
CONFIG = """\
subjects = ["mine"]
trials = 1
[agents.mine]
adapter = "command"
command = {command}
"""


class Repository:
    """A project with the generated workflows, on its default branch."""

    def __init__(self, project: Project) -> None:
        self.project = project
        project.demeanor("init", "--model", "openai/gpt-5-mini")
        for name in ("evals/eval_notes.py", "evals/create-file/scenario.toml"):
            (project.folder / name).unlink()
        project.write(evals__eval_writes_py=EVALS)
        self.git("init", "--quiet", "--initial-branch=main")
        self.runner = WorkflowRunner(
            repository=project.folder, home=project.folder.parent / "home", secrets={"OPENAI_API_KEY": "sk-0123456789"}
        )

    def git(self, *words: str) -> None:
        names = ("-c", "user.name=Ann", "-c", "user.email=ann@example.test")
        subprocess.run(["git", *names, *words], cwd=self.project.folder, check=True, capture_output=True)

    def commit(self, config: str) -> None:
        (self.project.folder / "demeanor.toml").write_text(config)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "A change")

    def nights(self) -> int:
        """The number of runs in the newest history of the cache."""
        saved = sorted((self.runner.home / "cache").iterdir(), key=lambda one: one.stat().st_mtime_ns)
        with closing(sqlite3.connect(f"{saved[-1].as_uri()}?immutable=1", uri=True)) as database:
            (count,) = database.execute("SELECT count(*) FROM runs").fetchone()
        return int(count)


@pytest.fixture
def repository(project: Project) -> Repository:
    return Repository(project)


def test_every_night_is_kept_whatever_its_verdict(repository: Repository) -> None:
    """Rejected nights too; a night that could not run adds nothing, and no older report is shown in its place."""
    for number, command in enumerate((GOOD, BAD, GOOD), 1):
        repository.commit(CONFIG.format(command=command))
        night = repository.runner.run(NIGHTLY)
        assert night.success == (command == GOOD), night.log
        assert repository.nights() == number
        assert "writes" in night.summary
        assert night.steps["Save the history"] == "success"

    repository.commit("subjects = [1]\n")
    broken = repository.runner.run(NIGHTLY)
    assert not broken.success
    assert "did not take place" in broken.summary
    assert "writes" not in broken.summary
    assert broken.steps["Save the history"] == "skipped"
    assert repository.nights() == 3
    names = sorted(path.name for path in (repository.runner.home / "artifacts").iterdir())
    assert names == ["evals-nightly-1-1", "evals-nightly-2-1", "evals-nightly-3-1"]


def test_a_pull_request_is_gated_and_commented(repository: Repository) -> None:
    """The gate sees the nights, a bad change fails the job, and the comment job needs only the artifact."""
    repository.commit(CONFIG.format(command=GOOD))
    assert repository.runner.run(NIGHTLY).success
    repository.git("checkout", "--quiet", "-b", "change")
    repository.commit(CONFIG.format(command=BAD))
    gated = repository.runner.run(PULL_REQUEST)
    assert not gated.success
    assert gated.steps["Validate the evals, without a model"] == "success"
    assert gated.steps["Decide"] == "failure"
    assert "writes" in gated.summary
    assert repository.nights() == 1  # a pull request does not write the history

    event = repository.runner.home / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))
    repository.runner.run_id -= 1  # another job of the same run
    unreachable = {"GITHUB_EVENT_PATH": str(event), "GITHUB_API_URL": "http://127.0.0.1:1"}
    commented = repository.runner.run(PULL_REQUEST, "comment", checkout=False, **unreachable)
    assert "GitHub can't be reached for the comment" in commented.log  # it found the summary without a checkout


def test_the_action_keeps_every_night_and_gates(repository: Repository) -> None:
    """The composite action of this repository, with the same rules."""
    for number, command in enumerate((GOOD, BAD), 1):
        repository.commit(CONFIG.format(command=command))
        night = repository.runner.run_action(ACTION, command="nightly", arguments="--trials 2 --subject mine")
        assert night.success == (command == GOOD), night.log
        assert repository.nights() == number
    gated = repository.runner.run_action(ACTION)
    assert (gated.success, gated.steps["Save the history"]) == (False, "skipped")
    assert "writes" in gated.summary
    wrong = repository.runner.run_action(ACTION, command="rm -rf /")
    assert "is not gate, nightly or run" in wrong.log
    assert repository.nights() == 2


def test_the_history_is_saved_and_restored_under_the_same_name(repository: Repository) -> None:
    workflows = Path(repository.project.folder, ".github/workflows")
    for name in (NIGHTLY, PULL_REQUEST):
        assert "restore-keys: evals-history-\n" in (workflows / name).read_text()
    assert "pull_request_target" not in (workflows / PULL_REQUEST).read_text()
