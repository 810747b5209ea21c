"""What can go wrong around a run: disks, folders, clocks, providers, and other runs."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.asking_agent import ASKS
from tests.helpers.project import Project
from tests.journeys.test_crash import WRITES as EVAL, ledger, processes_of
from tests.journeys.test_live_provider import serving
from tests.journeys.test_survival import (
    slow as slow,  # noqa: PLC0414 - a fixture
    start,
    until,
)

CONFIG = """\
subjects = ["quick"]
sandbox = "none"
jobs = 2
[agents.quick]
adapter = "command"
command = ["sh", "-c", "{script}", "{{prompt}}"]
"""
WRITES = "printf hi > out.txt"
FEW = EVAL.format(trials=12)
MANY = EVAL.format(trials=30)


def in_namespace(project: Project, script: str) -> subprocess.CompletedProcess[str]:
    """A shell that may mount, with `demeanor` in it. Where that is impossible, these tests can't tell: they fail."""
    demeanor = f'demeanor() {{ "{sys.executable}" -m demeanor "$@"; }}\n'
    return subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f"set -e\n{demeanor}{script}"],
        cwd=project.folder, env=project.env, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


def test_a_full_disk_stops_the_run_loudly_and_the_rest_is_done_later(project: Project) -> None:
    """No half line, no verdict lost or doubled: with room again, the run is resumed."""
    mark, full = project.folder.parent / "mark", project.folder / "results/full"
    fill = f"mkdir {mark}/1 || mkdir {mark}/2 || mkdir {mark}/3 || {{ mkdir {mark}/4 && cat /dev/zero > {full}; }}"
    mark.mkdir()
    project.write(demeanor_toml=CONFIG.format(script=f"{WRITES}; {fill}; true"), evals__eval_writes_py=FEW)
    ran = in_namespace(
        project,
        """
        mkdir results; mount -t tmpfs -o size=2m full results
        code=0; demeanor run || code=$?; echo "first $code"
        cat results/*/ledger.jsonl | wc -l
        rm results/full
        demeanor run --resume latest || echo "again $?"
        cp -r results/. ../kept
        """,
    )
    assert "first 70" in ran.stdout, ran.stdout + ran.stderr
    assert "No space left on device" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "12 passed" in ran.stdout, ran.stdout + ran.stderr
    (path,) = (project.folder.parent / "kept").glob("2*/ledger.jsonl")
    numbers = [json.loads(line)["number"] for line in path.read_text().splitlines()]
    assert sorted(numbers) == list(range(1, 13))
    assert processes_of(project) == []
    assert project.temporary() == []


@pytest.mark.parametrize("own", [False, True], ids=["by others", "by the agent"])
def test_a_disk_that_becomes_full_while_an_agent_runs_voids_the_trial_unless_the_agent_filled_it(
    project: Project, own: bool
) -> None:
    """An agent without a disk of its own can't write for a reason that is not its own."""
    mark = project.folder.parent / "mark"
    mark.mkdir()
    fills = "mkdir d; head -c 17000000 /dev/zero > d/big; chmod 0 d; cat /dev/zero > rest"
    waits = f"mkdir {mark}/up; until test -d {mark}/full; do :; done"
    script = f"{fills if own else waits}; {WRITES}; test -s out.txt"
    config = CONFIG.format(script=script).replace("jobs = 2", "jobs = 1\nattempts = 1")
    project.write(demeanor_toml=config, evals__eval_writes_py=EVAL.format(trials=1))
    fill = f"until test -d {mark}/up; do sleep 0.01; done; cat /dev/zero > $TMPDIR/full || true; mkdir {mark}/full"
    ran = in_namespace(
        project,
        f"""
        export TMPDIR={project.folder.parent}/small; mkdir $TMPDIR; mount -t tmpfs -o size=20m small $TMPDIR
        {"" if own else f"( {fill} ) &"}
        demeanor run || true
        """,
    )
    (record,) = ledger(project)
    verdict = record["verdict"]
    assert isinstance(verdict, dict), ran.stdout + ran.stderr
    if own:
        assert verdict["outcome"] == "fail", verdict
    else:
        assert (verdict["outcome"], verdict["cause"]) == ("void", "sandbox"), verdict
        assert "became full while the agent ran" in verdict["detail"]


def test_a_file_that_may_not_grow_stops_the_run_loudly(project: Project) -> None:
    """The same by a limit of the process, which needs no namespace."""
    talks = f"{WRITES}; head -c 60000 /dev/urandom | base64"
    project.write(demeanor_toml=CONFIG.format(script=talks), evals__eval_writes_py=FEW)
    ran = subprocess.run(
        ["sh", "-c", f'ulimit -f 800; exec "{sys.executable}" -m demeanor run'],
        cwd=project.folder, env=project.env, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert ran.returncode == 70, ran.stdout + ran.stderr
    assert "can't be stored: File too large" in ran.stderr
    kept = len(ledger(project))
    assert 0 < kept < 12
    assert project.demeanor("run", "--resume", "latest").returncode == 0
    assert sorted(record["number"] for record in ledger(project)) == list(range(1, 13))  # type: ignore[type-var]


def test_a_read_only_folder_is_reported_before_anything_runs(project: Project) -> None:
    """With what to do about it."""
    project.write(demeanor_toml=CONFIG.format(script="touch ../../../../ran"), evals__eval_writes_py=MANY)
    ran = in_namespace(project, "mkdir results; mount -t tmpfs -o ro full results; demeanor run")
    assert ran.returncode == 70, ran.stderr
    assert "results: can't store a run here: Read-only file system" in ran.stderr
    assert "--results" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_run_that_somebody_else_is_writing_is_left_alone(slow: Project) -> None:
    """Two processes that resume the same run would decide twice; the second is refused, and the first goes on."""
    run = start(slow)
    second = slow.demeanor("run", "--resume", "latest")
    assert second.returncode == 70
    assert "another Demeanor process is writing this run" in second.stderr
    (slow.folder.parent / "gate").touch()
    assert "6 passed" in run.communicate(timeout=300)[0]
    assert run.returncode == 0


def test_results_removed_during_the_run_are_missed_at_once(slow: Project) -> None:
    """Verdicts that can't be read again are no verdicts."""
    run = start(slow)
    shutil.rmtree(slow.folder / "results")
    (slow.folder.parent / "gate").touch()
    _, err = run.communicate(timeout=300)
    assert run.returncode == 70
    assert "was removed while it ran" in err
    assert not list(slow.folder.glob("results/*/*/*/trial-*"))
    until(lambda: processes_of(slow) == [])


def test_a_clock_that_jumps_changes_nothing(project: Project) -> None:
    """Days forward, years back: times are measured by a clock that only goes on."""
    jumps = """\
import itertools, random, time
real, realns, jump = time.time, time.time_ns, random.Random(1)
time.time = lambda: real() + jump.uniform(-1e8, 1e6)
time.time_ns = lambda: realns() + jump.randrange(-10**17, 10**15)
"""
    (project.folder.parent / "clock").mkdir()
    (project.folder.parent / "clock/sitecustomize.py").write_text(jumps)
    project.write(demeanor_toml=CONFIG.format(script=WRITES), evals__eval_writes_py=MANY)
    ran = project.demeanor("run", "--trials", "6", "--json", PYTHONPATH=str(project.folder.parent / "clock"))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert all(0 <= record["spent"]["seconds"] < 30 for record in ledger(project))  # type: ignore[index]
    stuck = CONFIG.format(script="sleep 600")
    project.write(demeanor_toml=stuck)
    ran = project.demeanor("run", "--trials", "1", "--timeout", "1", PYTHONPATH=str(project.folder.parent / "clock"))
    assert ran.returncode == 1
    assert "reached its time limit" in ran.stdout


def test_an_agent_that_is_killed_fails_its_trial_only(project: Project) -> None:
    """kill -9 of the agent is the agent's end; the other trials don't notice."""
    mark = project.folder.parent / "mark"
    script = f"printf hi > out.txt; mkdir {mark} 2>/dev/null && kill -9 $$; true"
    project.write(demeanor_toml=CONFIG.format(script=script), evals__eval_writes_py=MANY)
    ran = project.demeanor("run", "--trials", "4")
    assert ran.returncode == 1
    assert "1 failed" in ran.stdout
    assert "3 passed" in ran.stdout
    assert "signal 9" in ran.stdout
    assert processes_of(project) == []


SAYS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Say something.", trials=2)
def says(rig, result):
    assert result
"""
DOWN = """\
subjects = ["asks:milk"]
sandbox = "none"
attempts = 2
[models.milk]
provider = "acme"
model = "scripted"
price = {{ input = 3.0, output = 15.0 }}
[providers.acme]
base_url = "{url}"
dialect = "anthropic"
key_env = "ACME_KEY"
"""


def test_a_provider_that_is_down_voids_and_the_run_is_resumed_when_it_is_back(project: Project) -> None:
    """Nothing is blamed on the agent; every attempt stays in the ledger, with its cost; none takes another's place."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    project.write(demeanor_toml=DOWN.format(url=f"http://127.0.0.1:{port}") + ASKS, evals__eval_says_py=SAYS)
    down = project.demeanor("run", ACME_KEY="acme-key-of-a-test")
    assert down.returncode == 3, down.stdout + down.stderr
    assert "void" in down.stdout
    with serving(project, "--model", "scripted") as (url, key):
        project.write(demeanor_toml=DOWN.format(url=url) + ASKS)
        back = project.demeanor("run", "--resume", "latest", ACME_KEY=key)
    assert back.returncode == 0, back.stdout + back.stderr
    attempts = {(record["number"], record["attempt"]): record["verdict"]["outcome"] for record in ledger(project)}  # type: ignore[index]
    assert attempts == {
        (number, attempt): "void" if attempt < 3 else "pass" for number in (1, 2) for attempt in (1, 2, 3)
    }
    folders = {record["folder"] for record in ledger(project)}
    assert len(folders) == 6
    assert all((project.folder / "results/latest" / f"{folder}.log").is_file() for folder in folders)
    assert [record["attempt"] for record in ledger(project) if record["spent"].get("cost_usd")] == [3, 3]  # type: ignore[attr-defined]


@pytest.mark.parametrize("fault", ["cut@1", "500@1"])
def test_a_connection_of_the_gateway_that_is_torn_hurts_no_other_trial(project: Project, fault: str) -> None:
    """The gateway lives in Demeanor's own process and dies with it only; a connection of it may break at any time."""
    project.write(
        demeanor_toml=f'subjects = ["asks:scripted"]\nsandbox = "none"\nattempts = 1\n{ASKS}',
        evals__eval_says_py=SAYS.replace("trials=2", "trials=3, timeout=15"),
    )
    ran = project.demeanor("run", "--fault", fault)
    assert ran.returncode in {0, 1, 3}, ran.stderr
    assert "Traceback" not in ran.stderr
    assert len(ledger(project)) == 3
    assert processes_of(project) == []
    assert project.temporary() == []


def test_ctrl_c_twice_during_many_trials_can_be_resumed(project: Project) -> None:
    """Forced to its end in the middle of things."""
    project.write(demeanor_toml=CONFIG.format(script=f"{WRITES}; sleep 0.1"), evals__eval_writes_py=MANY)
    run = subprocess.Popen(
        project.command("run"), cwd=project.folder, env=project.env, stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: len(list(Path(project.folder).glob("results/*/*/*/trial-*"))) >= 3)
    run.send_signal(signal.SIGINT)
    run.send_signal(signal.SIGINT)
    run.wait(timeout=300)
    assert run.returncode == 130
    until(lambda: processes_of(project) == [])
    until(lambda: project.temporary() == [])
    assert project.demeanor("run", "--resume", "latest").returncode == 0
    assert sorted(record["number"] for record in ledger(project)) == list(range(1, 31))  # type: ignore[type-var]


def test_a_full_temporary_folder_is_named_instead_of_the_sandbox(project: Project) -> None:
    """Another sandbox would not help."""
    project.write(demeanor_toml=CONFIG.format(script=WRITES), evals__eval_writes_py=MANY)
    script = """
        mount -t tmpfs -o size=1m full ../tmp
        head -c 1000000 /dev/zero > ../tmp/most
        code=0; demeanor run --sandbox bubblewrap || code=$?; echo "code $code"
    """
    ran = in_namespace(project, script)
    assert "code 70" in ran.stdout, ran.stdout + ran.stderr
    assert "the disk of the temporary folder" in ran.stderr
    assert "set TMPDIR to a folder on another disk" in ran.stderr
    assert "isolation" not in ran.stderr
