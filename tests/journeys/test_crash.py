"""Killed at any moment, again and again: what is finished stays, what is missing is done, and nothing is left over."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter

import pytest

from tests.helpers import preloaded
from tests.helpers.processes import command_line, others, read, working_folder
from tests.helpers.project import Project
from tests.journeys.test_survival import until, until_gone

TRIALS = 24
KILLS = 10
ROUNDS = max(3, int(os.environ.get("DEMEANOR_EXAMPLES", "0")) // 100)
CONFIG = """\
subjects = ["steady"]
jobs = 4
[agents.steady]
adapter = "command"
command = ["sh", "-c", "printf hi > out.txt; sleep 0.1; echo done", "{prompt}"]
"""
WRITES = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.", trials={trials}, timeout=300)
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""

SLOW_SETUP = """\
import time
from pathlib import Path
from demeanor import ALWAYS_PASSES, eval_test

HERE = Path(__file__).parent

def setup(folder):
    while (HERE / "hold").exists():
        (HERE / "held").touch()
        time.sleep(0.01)

@eval_test(ALWAYS_PASSES, prompt="Write.", setup=setup)
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
"""


def processes_of(project: Project) -> list[str]:
    """Whatever still runs on behalf of the project: by its folder, its environment or its command line."""
    mark = str(project.folder.parent)
    found = [pid for pid in others() if mark in f"{working_folder(pid)} {read(pid, 'environ')} {command_line(pid)}"]
    return [f"{read(pid, 'stat')}: {command_line(pid)!r}" for pid in found]


def ledger(project: Project) -> list[dict[str, object]]:
    """Every record of the only run; each line of the file is a whole one."""
    (path,) = (project.folder / "results").glob("2*/ledger.jsonl")
    *lines, last = path.read_text().split("\n")
    assert last == ""
    return [json.loads(line) for line in lines]


def await_moment(project: Project, draw: random.Random, before: int, run: preloaded.Started) -> None:
    """A moment drawn by chance: at the start, or a little after some more trials were kept."""
    further = draw.choice((-1, 0, 1, 2, 3))
    if further >= 0:
        until(lambda: run.poll() is not None or kept(project) >= before + further)
    time.sleep(draw.uniform(0.0, 0.3 if further < 0 else 0.03))


def kept(project: Project) -> int:
    """How many records there are by now; -1 before the run began."""
    found = list((project.folder / "results").glob("*/ledger.jsonl"))
    return found[0].read_bytes().count(b"\n") if found else -1


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_killed_ten_times_at_random_moments_and_resumed(project: Project, seed: int) -> None:
    """Thirty kills in all: every trial has exactly one verdict, none is lost, no process and no temp folder is left."""
    level = 'sandbox = "none"\n' if seed % 2 else ""
    project.write(demeanor_toml=level + CONFIG, evals__eval_writes_py=WRITES.format(trials=TRIALS))
    draw = random.Random(seed)
    finished: list[dict[str, object]] = []
    for _ in range(KILLS):
        begun = list((project.folder / "results").glob("*/run.json"))
        words = ("run", "--resume", "latest") if begun else ("run",)
        run = project.start(*words)
        await_moment(project, draw, len(finished), run)
        run.send_signal(signal.SIGKILL)
        assert run.wait() in {-9, 0}, project.printed("stderr")
        until_gone(lambda: processes_of(project))
        until_gone(project.temporary)
        if list((project.folder / "results").glob("*/ledger.jsonl")):
            path = next((project.folder / "results").glob("*/ledger.jsonl"))
            now = [json.loads(line) for line in path.read_text().split("\n")[:-1]]
            assert now[: len(finished)] == finished
            finished = now
    assert finished, "no kill came after the first verdict"
    ended = project.demeanor("run", "--resume", "latest")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    records = ledger(project)
    assert Counter(record["number"] for record in records) == dict.fromkeys(range(1, TRIALS + 1), 1)
    assert all(record.get("final", True) and record["verdict"]["outcome"] == "pass" for record in records)  # type: ignore[index]
    assert records[: len(finished)] == finished
    assert f"{TRIALS} passed" in ended.stdout
    assert processes_of(project) == []
    assert project.temporary() == []


def test_killed_while_a_resumed_run_looks_for_edited_evals(project: Project) -> None:
    """The starting workspaces that it builds for that are removed, too."""
    project.write(demeanor_toml='sandbox = "none"\n' + CONFIG, evals__eval_writes_py=SLOW_SETUP)
    assert project.demeanor("run", "--trials", "1").returncode == 0
    hold, held = project.folder / "evals/hold", project.folder / "evals/held"
    hold.touch()
    run = subprocess.Popen(
        project.command("run", "--resume", "latest", "--trials", "2"), cwd=project.folder, env=project.env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(held.exists)
    assert project.temporary() != []
    run.kill()
    run.wait(300)
    until_gone(lambda: processes_of(project))
    until_gone(project.temporary)
