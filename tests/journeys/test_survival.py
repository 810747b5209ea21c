"""What is finished is never lost: Ctrl-C, kill -9, and agents that won't go."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable

import pytest

from demeanor.store.runs.run_folder import RunFolder
from tests.helpers.processes import working_in
from tests.helpers.project import Project, default_signals

CONFIG = """\
subjects = ["slow"]
sandbox = "none"
jobs = 2
attempts = 1
[agents.slow]
adapter = "command"
command = ["sh", "-c", "{script}", "{{prompt}}"]
"""
EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.", trials=6, timeout=300)
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""


def until(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    """Wait for something, not for a time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def until_gone(remaining: Callable[[], list[str]], seconds: float = 300.0) -> None:
    """Wait until nothing remains, and say what does otherwise."""
    deadline = time.monotonic() + seconds
    while left := remaining():
        assert time.monotonic() < deadline, f"still there after {seconds} s: {left}"
        time.sleep(0.01)


@pytest.fixture
def slow(project: Project) -> Project:
    """An agent whose first two trials end at once; the others wait until a gate file appears."""
    mark, gate = project.folder.parent / "mark", project.folder.parent / "gate"
    script = (
        f"printf hi > out.txt; mkdir {mark}/1 2>/dev/null || mkdir {mark}/2 2>/dev/null || "
        f"until [ -e {gate} ]; do sleep 0.05; done"
    )
    mark.mkdir()
    project.write(demeanor_toml=CONFIG.format(script=script), evals__eval_writes_py=EVALS)
    return project


def records(project: Project) -> list[dict[str, object]]:
    """The ledger of the only run."""
    ledgers = list((project.folder / "results").glob("*/ledger.jsonl"))
    return [json.loads(line) for line in ledgers[0].read_text().splitlines()] if ledgers else []


def agents_alive(project: Project) -> list[int]:
    """The processes that work in the project's temp folder."""
    return working_in(project.folder.parent / "tmp")


def start(project: Project) -> subprocess.Popen[str]:
    """A run of which two trials are finished and two are stuck."""
    run = subprocess.Popen(
        project.command("run"), cwd=project.folder, env=project.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, preexec_fn=default_signals,  # noqa: PLW1509 - it only sets signals
    )  # fmt: skip
    until(lambda: len(records(project)) == 2 and len(agents_alive(project)) >= 2)
    return run


def test_ctrl_c_keeps_what_is_finished(slow: Project):
    """One Ctrl-C: no agent is left, the report tells of what is finished, and the exit code says interrupted."""
    run = start(slow)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=300)
    assert run.returncode == 130
    assert "finished trials are kept" in err
    assert "writes" in out
    assert agents_alive(slow) == []
    assert slow.temporary() == []
    assert len(records(slow)) == 2


def test_kill_9_loses_only_what_was_running_and_resume_does_the_rest(slow: Project):
    """Nothing finished is lost, no process and no temp folder is left, and every trial is judged exactly once."""
    run = start(slow)
    run.kill()
    run.communicate(timeout=300)
    until(lambda: agents_alive(slow) == [])
    until(lambda: slow.temporary() == [])
    (slow.folder.parent / "gate").touch()
    resumed = slow.demeanor("run", "--resume", "latest")
    assert resumed.returncode == 0, resumed.stdout + resumed.stderr
    assert sorted(record["number"] for record in records(slow)) == [1, 2, 3, 4, 5, 6]  # type: ignore[type-var]


def test_resume_latest_after_kill_9_continues_the_killed_run_and_not_the_one_before(slow: Project):
    """`latest` is the run that started last, whether or not it has ended."""
    gate = slow.folder.parent / "gate"
    gate.touch()
    finished = json.loads(slow.demeanor("run", "--json").stdout)["run"]["id"]
    gate.unlink()
    run = subprocess.Popen(slow.command("run"), cwd=slow.folder, env=slow.env, stdout=subprocess.DEVNULL)
    until(lambda: len(agents_alive(slow)) >= 2)
    run.kill()
    run.communicate(timeout=300)
    until(lambda: slow.temporary() == [])
    gate.touch()
    resumed = json.loads(slow.demeanor("run", "--resume", "latest", "--json").stdout)
    assert resumed["run"]["id"] != finished
    assert len(resumed["results"][0]["trials"]) == 6


def test_resuming_a_finished_run_runs_nothing(slow: Project):
    """It only tells again what came of it."""
    (slow.folder.parent / "gate").touch()
    first = slow.demeanor("run")
    before = records(slow)
    again = slow.demeanor("run", "--resume", "latest")
    assert (first.returncode, again.returncode) == (0, 0), again.stderr
    assert records(slow) == before


def test_an_agent_that_ignores_term_and_leaves_a_daemon_is_gone_at_its_deadline(project: Project):
    """Its time is over: the trial fails, and nothing of it is left."""
    script = (
        "trap '' TERM; setsid sh -c 'trap \\\"\\\" TERM; while :; do sleep 0.1; done' & while :; do sleep 0.1; done"
    )
    project.write(
        demeanor_toml=CONFIG.format(script=script), evals__eval_writes_py=EVALS.replace("trials=6", "trials=1")
    )
    ran = project.demeanor("run", "--timeout", "1")
    assert ran.returncode == 1
    assert "reached its time limit" in ran.stdout
    assert agents_alive(project) == []
    assert project.temporary() == []


def test_the_hosts_environment_does_not_leak(project: Project):
    """An agent sees an allow-list, its own HOME and its own temp folder."""
    project.write(
        demeanor_toml='canary = "off"\n' + CONFIG.format(script="env > out.txt"),
        evals__eval_env_py="""\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="x", trials=1)
def sees_little(rig, result):
    names = {line.partition("=")[0] for line in rig.workspace["out.txt"].lines}
    assert not names & {"SECRET_KEY", "VIRTUAL_ENV"}, names
    assert {"HOME", "PATH", "TMPDIR"} <= names
    assert "project" not in [l for l in rig.workspace["out.txt"].lines if l.startswith("HOME=")][0].split("/")
""",
    )
    ran = project.demeanor("run", SECRET_KEY="hunter2")
    assert ran.returncode == 0, ran.stdout


def test_a_hundred_megabytes_of_output_do_no_harm(project: Project):
    """The verdict is right, the log says that something was left out, and the run's folder stays small."""
    script = "head -c 100000000 /dev/zero | tr '\\\\0' '\\\\377'; printf hi > out.txt"
    config = CONFIG.format(script=script)
    project.write(
        demeanor_toml=f'{config}[limits]\noutput = "200 KiB"\n',
        evals__eval_writes_py=EVALS.replace("trials=6", "trials=1"),
    )
    ran = project.demeanor("run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (record,) = records(project)
    assert "printed 100000000 bytes of output" in str(record["notes"])
    size = sum(path.stat().st_size for path in (project.folder / "results").rglob("*") if path.is_file())
    assert size < 2_000_000


def test_two_runs_at_once_do_not_disturb_each_other(slow: Project):
    """Same folder, same evals, same second."""
    (slow.folder.parent / "gate").touch()
    runs = [
        subprocess.Popen(
            slow.command("run", "--json"), cwd=slow.folder, env=slow.env, stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    reports = [json.loads(run.communicate(timeout=300)[0]) for run in runs]
    assert [len(report["results"][0]["trials"]) for report in reports] == [6, 6]
    assert len([path for path in (slow.folder / "results").iterdir() if path.is_dir() and not path.is_symlink()]) == 2
    assert os.path.lexists(slow.folder / "results" / "latest")


def test_a_second_ctrl_c_forces_the_end_and_still_leaves_nothing(project: Project):
    """Even with an agent that won't go: no process, no temp folder, and what was finished can be resumed."""
    script = "trap '' TERM INT; printf hi > out.txt; touch started; while :; do sleep 0.05; done"
    project.write(demeanor_toml=CONFIG.format(script=script), evals__eval_writes_py=EVALS)
    run = subprocess.Popen(
        project.command("run"), cwd=project.folder, env=project.env, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        text=True,
    )  # fmt: skip
    until(lambda: bool(list(project.folder.glob("results/*/ledger.jsonl"))) and len(agents_alive(project)) >= 2)
    run.send_signal(signal.SIGINT)
    assert run.stderr is not None
    until(lambda: "finished trials are kept" in run.stderr.readline())  # type: ignore[union-attr]
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=300)
    assert run.returncode == 130
    until(lambda: agents_alive(project) == [])
    until(lambda: project.temporary() == [])


def test_an_agent_that_does_nothing_for_too_long_is_ended(project: Project):
    """The idle limit counts from its last sign of life; a busy one is let alone."""
    script = "printf hi > out.txt; echo working; sleep 600"
    config = "idle_timeout = 0.5\n" + CONFIG.format(script=script)
    project.write(demeanor_toml=config, evals__eval_writes_py=EVALS.replace("trials=6", "trials=1"))
    ran = project.demeanor("run")
    assert ran.returncode == 1
    assert "was idle for too long" in ran.stdout
    busy = "for i in 1 2 3 4 5 6 7 8 9 10 11; do echo $i; sleep 0.5; done; printf hi > out.txt"
    project.write(demeanor_toml="idle_timeout = 5\n" + CONFIG.format(script=busy))
    assert project.demeanor("run").returncode == 0


def test_a_setup_that_crashes_is_reported_with_its_line(project: Project):
    """A bug of the eval's author: void(setup), never a fail of the agent. It is called once, not once per attempt."""
    calls = project.folder.parent / "calls"
    code = """\
from demeanor import ALWAYS_PASSES, eval_test

def prepare(workspace):
    with open("CALLS", "a") as calls:
        calls.write("called\\n")
    (workspace / "deep" / "file").write_text("")

@eval_test(ALWAYS_PASSES, prompt="x", setup=prepare, trials=2)
def prepared(rig, result):
    assert True
"""
    project.write(demeanor_toml=CONFIG.format(script="true"), evals__eval_setup_py=code.replace("CALLS", str(calls)))
    ran = project.demeanor("run")
    assert ran.returncode == 3, ran.stdout
    assert "setup" in ran.stdout
    assert "FileNotFoundError" in ran.stdout
    assert calls.read_text() == "called\n"
    records = RunFolder((project.folder / "results/latest").resolve()).records()
    assert sorted((record.trial, record.attempt, record.verdict.cause) for record in records) == [
        ("prepared/slow/1", 1, "setup"),
        ("prepared/slow/2", 1, "setup"),
    ]
