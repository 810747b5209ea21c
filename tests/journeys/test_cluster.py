"""Attempts on a real cluster: scheduler and workers are processes of their own, connected over TLS."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.codec import encode
from demeanor.runner.executors.certificates import write_certificates
from demeanor.store.runs.run_folder import RunFolder
from tests.helpers.cluster import PATIENCE, Cluster, processes_with, wait_for
from tests.helpers.project import Project

EVALS = """\
from demeanor import ALWAYS_PASSES, USUALLY_PASSES, eval_test

def commit_twice(workspace):
    (workspace / "todo.txt").write_text("milk\\n")
    (workspace / "run.sh").write_text("echo hello\\n")
    (workspace / "run.sh").chmod(0o755)
    (workspace / "empty").mkdir()

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.", setup=commit_twice)
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text
    assert rig.workspace.run("sh", "-c", "./run.sh; cat notes.txt").stdout == "hello\\nbuy milk\\n"
    assert result.startswith("Saved")

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_it_elsewhere(rig, result):
    assert "other.txt" in rig.workspace
"""
CONFIG = """\
subjects = ["native:large"]
attempts = 1
trials = 2
[models.large]
script = "large.yaml"
"""
SCRIPT = """\
rules:
  - turns:
      - call: {tool: shell, arguments: {command: "echo 'buy milk' > notes.txt; rm -f todo.txt"}}
      - say: "Saved."
"""
TELLS = """\
subjects = ["teller"]
[agents.teller]
adapter = "command"
command = ["./teller.sh", "{prompt}"]
pass_env = ["ACME_TOKEN"]
"""
WAITS = """\
subjects = ["waiter"]
trials = 2
sandbox = "none"
[agents.waiter]
adapter = "command"
command = ["sh", "{folder}/waiter.sh", "{prompt}"]
"""
WAITER = "touch {folder}/started.$$; while [ ! -e {folder}/go ]; do sleep 0.05; done; echo hi > a.txt\n"
WRITES = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write a.txt")
def writes_the_file(rig, result):
    assert "a.txt" in rig.workspace
"""
LIAR = """\
from dataclasses import replace
from demeanor.runner.executors import worker
honest = worker.pack_message

def pack_message(value, body=b""):
    return honest(replace(value, trial="another/trial/1") if body else value, body)

worker.pack_message = pack_message
"""
SECRET = "tQ7wZr2LkPx9VbN4mJ6d"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two good workers, one with another version of Demeanor, and one whose clock is an hour ahead."""
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        found.start_scheduler()
        found.start_worker("good-1", ACME_TOKEN=SECRET)
        found.start_worker("good-2", ACME_TOKEN=SECRET)
        found.start_worker("old", preload="import demeanor._version as v; v.__version__ = '0.0.1'")
        found.start_worker("late", preload="import time; now = time.time; time.time = lambda: now() + 3000")
        yield found
    finally:
        found.stop()


def latest(project: Project) -> RunFolder:
    """The newest run."""
    return RunFolder((project.folder / "results/latest").resolve())


def judged(project: Project) -> list[Any]:
    """What the newest run says of each trial, without times."""
    rows = []
    for record in sorted(latest(project).records(), key=lambda record: record.trial):
        row = encode(record)
        row["spent"].pop("seconds", None)
        row["spent"].pop("model_seconds", None)
        rows.append(
            {name: value for name, value in row.items() if name not in {"ended", "folder", "capture", "capture_hash"}}
        )
    return rows


def test_verdicts_are_those_of_a_local_run_from_the_same_cassettes(project: Project, cluster: Cluster) -> None:
    """Passes, failures with their reasons, chains of calls and fingerprints, by two workers."""
    project.write(demeanor_toml=CONFIG, evals__eval_notes_py=EVALS, large_yaml=SCRIPT)
    assert project.demeanor("run", "--record", "--policy", "all").returncode == 1
    assert project.demeanor("run", "--replay", "--policy", "all", "--seed", "1").returncode == 1
    here = judged(project)
    options = ("--scheduler", cluster.address, "--certs", str(cluster.certs))
    ran = project.demeanor("run", "--replay", "--policy", "all", "--seed", "1", *options)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "2 passed · 2 failed" in ran.stdout
    assert "the worker old" in ran.stdout
    there = judged(project)
    assert len(there) == len(here) == 4
    for one, other in zip(there, here, strict=True):
        assert {name: value for name, value in one.items() if value != other.get(name)} == {}


def test_check_shows_the_workers_that_are_not_used_and_why(project: Project, cluster: Cluster) -> None:
    """One has another version, one has another time."""
    project.write(demeanor_toml=f'[executor]\nscheduler = "{cluster.address}"\ncerts = "{cluster.certs}"\n')
    ran = project.demeanor("cluster", "check", "--subject", "native:scripted", "--json")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    found = {worker["name"]: worker for worker in json.loads(ran.stdout)}
    assert {name for name, worker in found.items() if worker["used"]} == {"good-1", "good-2"}
    assert "it has Demeanor 0.0.1" in found["old"]["problem"]
    assert "its clock is" in found["late"]["problem"]
    assert found["good-1"]["sandbox"] == "bubblewrap"
    assert "native" in found["good-1"]["agents"]


def test_secrets_of_workers_reach_neither_the_conductor_nor_the_scheduler(project: Project, cluster: Cluster) -> None:
    """The agent prints a variable of the worker; what is stored shows a mark in its place."""
    script = "#!/bin/sh\necho key $ACME_TOKEN | tee a.txt\n"
    project.write(demeanor_toml=TELLS, teller_sh=script, evals__eval_a_py=WRITES)
    (project.folder / "teller.sh").chmod(0o755)
    options = ("--scheduler", cluster.address, "--certs", str(cluster.certs), "--trials", "1")
    ran = project.demeanor("run", *options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    stored = b"".join(path.read_bytes() for path in (project.folder / "results").rglob("*") if path.is_file())
    assert "key ‹redacted:ACME_TOKEN" in latest(project).records()[0].stdout
    assert SECRET.encode() not in stored
    assert SECRET not in cluster.log("scheduler")


@pytest.mark.parametrize("how", ["plain", "certificate"])
def test_a_cluster_without_trusted_tls_is_refused(project: Project, cluster: Cluster, how: str) -> None:
    """Nothing is run or written."""
    project.write(demeanor_toml=CONFIG, evals__eval_notes_py=EVALS, large_yaml=SCRIPT)
    others = project.folder.parent / "others"
    write_certificates(others)
    address = cluster.address.replace("tls://", "tcp://") if how == "plain" else cluster.address
    ran = project.demeanor("run", "--scheduler", address, "--certs", str(others))
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert ("only TLS is used" if how == "plain" else "can't be reached") in ran.stderr
    assert not list((project.folder / "results").glob("2*"))


def start_waiting(project: Project, more: str = "") -> subprocess.Popen[str]:
    """A run on a cluster of its own, whose first attempt waits for the file `go`."""
    project.write(demeanor_toml=WAITS.replace("{folder}", str(project.folder.parent)) + more, evals__eval_a_py=WRITES)
    (project.folder.parent / "waiter.sh").write_text(WAITER.replace("{folder}", str(project.folder.parent)))
    process = subprocess.Popen(
        project.command("run", "--workers", "1"),
        cwd=project.folder,
        env=project.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    wait_for(lambda: attempts_started(project) or process.poll() is not None, "the first attempt")
    assert process.poll() is None, process.communicate()[0]
    return process


def attempts_started(project: Project) -> int:
    """How many attempts have started so far."""
    return len(list(project.folder.parent.glob("started.*")))


def cluster_processes(project: Project, role: str) -> list[int]:
    """The scheduler or the workers of a run's own cluster."""
    return [pid for pid, line in processes_with(str(project.folder.parent)).items() if f'"role": "{role}"' in line]


def nothing_left(project: Project) -> bool:
    """Whether no process of a run is left anywhere."""
    return not processes_with(str(project.folder.parent))


def test_an_attempt_whose_worker_is_killed_is_void_kept_and_tried_again(project: Project) -> None:
    """kill -9 of the only worker: it is started again, and every trial has exactly one final verdict."""
    process = start_waiting(project)
    (worker,) = cluster_processes(project, "worker")
    os.kill(worker, signal.SIGKILL)
    wait_for(lambda: attempts_started(project) > 1 or process.poll() is not None, "the second attempt")
    (project.folder.parent / "go").touch()
    output = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 0, output
    records = latest(project).records()
    voids = [record for record in records if record.verdict.outcome == "void"]
    assert [(getattr(record.verdict, "cause", ""), record.final) for record in voids] == [("worker", False)], output
    assert sorted(record.trial for record in records if record.final) == [
        f"writes_the_file/waiter/{number}" for number in (1, 2)
    ]
    assert "was lost" in output
    wait_for(lambda: nothing_left(project), "the end of all processes")


def test_a_worker_that_is_silent_is_given_up_and_used_again_when_it_answers(project: Project) -> None:
    """SIGSTOP, until its attempt is void; then SIGCONT. What it was doing meanwhile does not count."""
    process = start_waiting(project, more="[executor]\nsilence = 10\n")
    (worker,) = cluster_processes(project, "worker")
    os.kill(worker, signal.SIGSTOP)
    try:
        wait_for(lambda: latest(project).records() or process.poll() is not None, "the void attempt")
        (project.folder.parent / "go").touch()
    finally:
        os.kill(worker, signal.SIGCONT)
    output = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 0, output
    records = latest(project).records()
    assert getattr(records[0].verdict, "cause", "") == "worker"
    assert "did not answer within 10 seconds" in getattr(records[0].verdict, "detail", "")
    assert len({record.trial for record in records if record.final}) == 2
    assert "answers again" in output


def test_a_forged_result_is_refused(project: Project, tmp_path: Path) -> None:
    """A worker that answers for another trial: the attempt is void, and nothing of it is judged."""
    folder = tmp_path / "liars"
    folder.mkdir()
    liars = Cluster(folder)
    try:
        liars.start_scheduler()
        liars.start_worker("liar", preload=LIAR)
        project.write(demeanor_toml="attempts = 1\n" + CONFIG.replace("attempts = 1\n", ""), large_yaml=SCRIPT)
        project.write(evals__eval_notes_py=EVALS)
        ran = project.demeanor("run", "--trials", "1", "--scheduler", liars.address, "--certs", str(liars.certs))
    finally:
        liars.stop()
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert "sent an invalid result: it belongs to 'another/trial/1'" in ran.stdout + ran.stderr
    assert getattr(latest(project).records()[0].verdict, "cause", "") == "worker"


def test_ctrl_c_ends_everything_everywhere(project: Project) -> None:
    """The agents on workers, the workers and the scheduler."""
    process = start_waiting(project)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 130, output
    wait_for(lambda: nothing_left(project), "the end of all processes")


@pytest.mark.parametrize("who", ["conductor", "scheduler"])
def test_a_run_whose_conductor_or_scheduler_is_killed_can_be_resumed(project: Project, who: str) -> None:
    """Nothing is left of it; the resumed run makes the missing trials, on this machine."""
    process = start_waiting(project)
    os.kill(process.pid if who == "conductor" else cluster_processes(project, "scheduler")[0], signal.SIGKILL)
    output = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == (-9 if who == "conductor" else 3), output
    wait_for(lambda: nothing_left(project), "the end of all processes")
    (project.folder.parent / "go").touch()
    ran = project.demeanor("run", "--resume", "latest")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    final = [record.trial for record in latest(project).records() if record.final]
    assert sorted(final) == ["writes_the_file/waiter/1", "writes_the_file/waiter/2"]
