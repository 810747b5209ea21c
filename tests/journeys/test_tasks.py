"""Whole tasks, run by the real Harbor in our bubblewrap environment.

Harbor takes seconds of CPU time for each trial. Tests of what Demeanor does around it, whatever the trial was, have a
program in its place (the fixture `plain`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.harbor_engine import PROGRAM, needs_harbor
from tests.helpers.harbor_tasks import engine, greet, rewarding, stepped
from tests.helpers.installed_agents import AGENTS_FOLDER, installed
from tests.helpers.processes import with_command
from tests.helpers.project import Project

pytestmark = needs_harbor

CONFIG = f"""
attempts = 2

[harbor]
program = "{PROGRAM}"
env = "bubblewrap"

[harbor.agents.nobody]
agent = "no_such_module:Agent"
env = {{ URL = "{{url}}" }}
"""
RICH = 'echo two of four passed\necho \'{"reward": 0.5, "tests": 2, "style": 1}\' > /logs/verifier/reward.json\n'


def play(project: Project, *words: str) -> subprocess.CompletedProcess[str]:
    """A run of tasks, to its end."""
    return project.demeanor("run", *words, "--policy", "all")


def records(project: Project) -> dict[str, list[dict[str, Any]]]:
    """All attempts of the latest run by trial."""
    attempts: dict[str, list[dict[str, Any]]] = {}
    for line in (project.folder / "results/latest/ledger.jsonl").read_text().splitlines():
        record = json.loads(line)
        attempts.setdefault(f"{record['eval']}/{record['subject']}/{record['number']}", []).append(record)
    return attempts


@pytest.fixture
def tasks(project: Project) -> Project:
    """A project with one small task."""
    (project.folder / "demeanor.toml").write_text(CONFIG)
    greet(project.folder / "tasks/greet")
    return project


@pytest.fixture
def plain(tasks: Project) -> Project:
    """The same project with a program in place of Harbor that rewards every trial with 1."""
    config = tasks.folder / "demeanor.toml"
    config.write_text(CONFIG.replace(str(PROGRAM), str(rewarding(tasks.folder / "engine"))))
    return tasks


def test_tasks_pass_fail_and_break(tasks: Project):
    """Two at a time: steps that pass, a reward that is too small, and an environment that can't be built, which is void
    with its cause. What Harbor leaves of other tasks is read in tests/plugins/harbor/inside/test_environment.py."""
    folder = tasks.folder / "tasks"
    shutil.rmtree(folder / "greet")
    greet(folder / "rich", check=RICH)
    greet(folder / "unbuilt")
    (folder / "unbuilt/environment/Dockerfile").write_text("FROM debian:12\nRUN echo no such luck && false\n")
    stepped(folder / "steps")
    done = play(tasks, "tasks", "--subject", "oracle", "--trials", "1", "--jobs", "2")
    assert done.returncode == 1, done.stderr
    assert "layer 3, whole tasks: 1 of 3 held" in done.stdout
    attempts = records(tasks)
    verdicts = {trial: tries[-1]["verdict"] for trial, tries in attempts.items()}
    assert {trial: verdict["outcome"] for trial, verdict in verdicts.items()} == {
        "steps/oracle/1": "pass",
        "rich/oracle/1": "fail",
        "unbuilt/oracle/1": "void",
    }
    assert verdicts["steps/oracle/1"]["findings"][0]["reason"] == "reward is 1 (step first 1, step second 1)"
    assert verdicts["rich/oracle/1"]["findings"][0]["reason"] == (
        "reward is 0.5, at least 1 required (tests 2, style 1)\ntwo of four passed"
    )
    assert verdicts["unbuilt/oracle/1"]["cause"] == "sandbox"
    assert "no such luck" in verdicts["unbuilt/oracle/1"]["detail"]
    assert {trial for trial, tries in attempts.items() if len(tries) > 1} == set()  # none would end otherwise
    assert tasks.temporary() == []


def test_an_agent_with_a_model_is_seen_on_the_wire(tasks: Project):
    """Its trajectory, tokens and native log are kept; a cassette answers again, also if the task has changed, which is
    noted; a fault is met, and got over."""
    done = play(tasks, "tasks", "--subject", "native:scripted", "--trials", "1", "--record")
    assert done.returncode == 0, done.stderr
    ((native,),) = records(tasks).values()
    assert native["verdict"]["outcome"] == "pass"
    assert native["verdict"]["findings"][0]["reason"] == "reward is 1"
    assert native["spent"]["input_tokens"] > 0
    assert "write_file" in native["chain"]
    assert native["agent_version"]
    folder = tasks.folder / "results/latest" / native["folder"]
    events = [json.loads(line) for line in (folder / "trajectory.jsonl").read_text().splitlines()]
    (call,) = (event for event in events if event["type"] == "called")
    assert (call["tool"], call["witness"], call["succeeded"]) == ("write_file", "both", True)
    assert (folder / "logs/agent/native.jsonl").is_file()
    assert (folder / "logs/verifier/reward.txt").read_text() == "1\n"
    with (tasks.folder / "tasks/greet/tests/test.sh").open("a") as verifier:
        verifier.write("# stricter\n")
    again = play(tasks, "tasks", "--subject", "native:scripted", "--trials", "1", "--replay")
    assert again.returncode == 0, again.stdout
    assert "no model was asked, nothing was spent" in again.stdout
    ((changed,),) = records(tasks).values()
    assert [note for note in changed["notes"] if "the task has changed since it was recorded on" in note]
    broken = play(tasks, "tasks", "--subject", "native:scripted", "--trials", "1", "--fault", "429@1")
    assert broken.returncode == 0, broken.stdout
    ((record,),) = records(tasks).values()
    assert any(
        json.loads(line)["type"] == "faulted"
        for line in (tasks.folder / "results/latest" / record["folder"] / "trajectory.jsonl").read_text().splitlines()
    )


def test_a_provider_that_fails_or_falls_silent_is_void(tasks: Project):
    """As the gateway saw it, whatever Harbor makes of it."""
    play(tasks, "tasks", "--subject", "native:scripted", "--trials", "1", "--fault", "500@1-99")
    ((failed,),) = records(tasks).values()
    assert failed["verdict"]["cause"] == "provider"
    play(tasks, "tasks", "--subject", "native:scripted", "--trials", "1", "--fault", "hang@1", "--timeout", "6")
    ((silent,),) = records(tasks).values()
    assert silent["verdict"]["cause"] == "stalled"


def test_harbor_that_does_not_run_is_void(tasks: Project):
    """With the end of what it said, and tried again."""
    config = tasks.folder / "demeanor.toml"
    config.write_text(CONFIG.replace("attempts = 2", "attempts = 1"))
    done = play(tasks, "tasks", "--subject", "nobody:scripted", "--trials", "1")
    assert done.returncode == 3
    ((only,),) = records(tasks).values()
    assert only["verdict"]["cause"] == "harness"
    assert "no_such_module" in only["verdict"]["detail"]
    config.write_text(CONFIG.replace(str(PROGRAM), str(engine(tasks.folder / "engine", "echo broken >&2; kill $$"))))
    assert play(tasks, "tasks", "--subject", "nop", "--trials", "1").returncode == 3
    ((first, second),) = records(tasks).values()
    assert (first["verdict"]["cause"], second["attempt"]) == ("harness", 2)
    assert "broken" in first["verdict"]["detail"]


def test_an_agent_that_is_not_installed_is_reported(tasks: Project):
    """With what to do; nothing is fetched behind the user's back, and nothing tried again."""
    tasks.env["DEMEANOR_AGENTS"] = str(tasks.folder / "none")
    tasks.env["PATH"] = "/usr/bin:/bin"
    play(tasks, "tasks", "--subject", "codex:scripted", "--trials", "1")
    ((record,),) = records(tasks).values()
    assert record["verdict"]["cause"] == "missing"
    assert "demeanor agents install codex" in record["verdict"]["detail"]


def test_a_task_that_has_changed_since_it_was_recorded_is_reported(plain: Project):
    """And one that has not is not."""
    words = ("tasks", "--subject", "native:scripted", "--trials", "1")
    play(plain, *words, "--record")
    assert "changed since" not in play(plain, *words, "--replay").stdout
    with (plain.folder / "tasks/greet/tests/test.sh").open("a") as verifier:
        verifier.write("# stricter\n")
    assert "changed since their cassettes were recorded: greet" in play(plain, *words, "--replay").stdout


def test_what_was_kept_can_be_judged_again(plain: Project):
    """Without Harbor, by the reward that was kept. The new verdicts are those of a whole task, too."""
    assert play(plain, "tasks", "--subject", "oracle", "--trials", "1").returncode == 0
    toml = plain.folder / "tasks/greet/task.toml"
    toml.write_text(f"{toml.read_text()}\n[metadata.demeanor]\nat_least = 2\n")
    done = plain.demeanor("rejudge", "latest", "--keep")
    assert "reward is 1, at least 2 required" in done.stdout + done.stderr
    runs = [json.loads(file.read_text()) for file in (plain.folder / "results").rglob("run.json")]
    assert [[cell["layer"] for cell in run["cells"]] for run in runs] == [[3], [3]]


def test_twenty_trials_two_at_a_time(plain: Project):
    """Each judged once, in a place of its own, and nothing left."""
    done = play(plain, "tasks", "--subject", "oracle", "--trials", "20", "--jobs", "2")
    assert done.returncode == 0, done.stdout
    attempts = records(plain)
    assert len(attempts) == 20
    assert all(len(tries) == 1 and tries[0]["verdict"]["outcome"] == "pass" for tries in attempts.values())
    assert plain.temporary() == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_ending_demeanor_leaves_nothing(tasks: Project, number: signal.Signals):
    """No Harbor, no agent, no folder; also where it is killed."""
    nap = f"{int(number)}{os.getpid()}"
    greet(tasks.folder / "tasks/greet", solve=f"exec sleep {nap}\n")
    command = tasks.command("run", "tasks", "--subject", "oracle", "--trials", "1", "--policy", "all")
    running = subprocess.Popen(
        command, cwd=tasks.folder, env=tasks.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: len(with_command(f"sleep\0{nap}")) == 1)
        running.send_signal(number)
        assert running.wait(600) == (130 if number is signal.SIGINT else -signal.SIGKILL)
        wait_until(lambda: not with_command(f"sleep\0{nap}") and not with_command(f"{tasks.env['TMPDIR']}/"))
        wait_until(lambda: tasks.temporary() == [])
    finally:
        running.kill()
        running.wait()


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what will come true soon."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.05)


@pytest.mark.agents
@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_real_agents_play_tasks_as_they_are_installed_here(tasks: Project, name: str):
    """With Harbor's own adapters, in our environment, through our gateway."""
    installed(name)
    tasks.env["DEMEANOR_AGENTS"] = str(AGENTS_FOLDER)
    done = play(tasks, "tasks", "--subject", f"{name}:scripted", "--trials", "1")
    assert done.returncode == 0, done.stdout
    ((record,),) = records(tasks).values()
    assert record["spent"]["turns"] == 2
    assert record["agent_version"]
    assert (tasks.folder / "results/latest" / record["folder"] / f"logs/agent/{name}.txt").is_file()
