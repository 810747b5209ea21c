"""Attempts on a real cluster: scheduler and workers are processes of their own, connected over TLS."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import pytest

from demeanor.core.text.codec import encode
from demeanor.core.values.verdict import Void, VoidCause
from demeanor.plugins.cluster.certificates import write_certificate
from demeanor.store.runs.run_folder import RunFolder
from tests.helpers import preloaded
from tests.helpers.cluster import PATIENCE, Cluster, processes_with, wait_for
from tests.helpers.network import PrivateNetwork
from tests.helpers.processes import with_command
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
trials = 1
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
WAITER = "touch {folder}/started.$$; flock --shared {folder}/gate true; echo hi > a.txt\n"
WRITES = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write a.txt")
def writes_the_file(rig, result):
    assert "a.txt" in rig.workspace
"""
LIAR = """\
from dataclasses import replace
from demeanor.plugins.cluster import worker
honest, lied = worker.pack_message, []

def pack_message(value, body=b""):
    if body and not lied and value.trial.startswith("lied_about"):
        lied.append(value)
        value = replace(value, trial="another/trial/1")
    return honest(value, body)

worker.pack_message = pack_message
"""
ROGUE = """\
import pickle
from pathlib import Path
import distributed.protocol.serialize  # the package has a function of this name
import sys

class Bomb:
    def __reduce__(self):
        return Path.touch, (Path("{folder}/unpickled"),)

def rogue(value, context=None):
    return {{"serializer": "pickle", "writeable": ()}}, [pickle.dumps(Bomb())]

def unable(value, context=None):
    raise NotImplementedError

families = sys.modules["distributed.protocol.serialize"].families
for name, write in {{"dask": unable, "pickle": rogue, "msgpack": rogue}}.items():
    families[name] = write, *families[name][1:]
"""
"""Runs in a worker: whatever it answers runs code in the process that unpickles it."""

SECRET = "tQ7wZr2LkPx9VbN4mJ6d"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two good workers, and one each with another version, a clock that is ahead, no sandbox, a full disk, and pickles
    instead of answers."""
    found = Cluster(tmp_path_factory.mktemp("cluster"))
    only_git = found.folder / "only-git"
    only_git.mkdir()
    (only_git / "git").symlink_to(shutil.which("git") or "git")
    try:
        found.start_scheduler()
        found.start_worker("good-1", ACME_TOKEN=SECRET)
        found.start_worker("good-2", ACME_TOKEN=SECRET)
        found.start_worker(
            "old", preload="from demeanor.plugins.cluster import worker_run as w; w.__version__ = '0.0.1'"
        )
        found.start_worker("late", preload="import time; now = time.time; time.time = lambda: now() + 3000")
        found.start_worker("bare", PATH=str(only_git))
        found.start_worker("rogue", preload=ROGUE.format(folder=found.folder))
        start_worker_on_full_disk(found, "full")
        found.wait_for_workers()
        yield found
    finally:
        found.stop()


def start_worker_on_full_disk(cluster: Cluster, name: str) -> None:
    """A worker whose folder for temporary files is on a disk without space."""
    folder = cluster.folder / "full-disk"
    folder.mkdir()
    fill = f"cat /dev/zero > {folder}/zeros 2> /dev/null"
    mount = f'mount -t tmpfs -o size=2m tmpfs {folder}; {fill}; exec "$@"'
    before = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    cluster.start_worker(name, before=before, preload=f"import tempfile; tempfile.tempdir = {str(folder)!r}")


def on(project: Project, cluster: Cluster) -> tuple[str, ...]:
    """The option that names the cluster, whose certificates the configuration names from now on."""
    config = project.folder / "demeanor.toml"
    text = config.read_text()
    if "certs = " not in text:
        table = f'[executor.cluster]\ncerts = "{cluster.certs}"\n'
        before, _, after = text.partition("[executor.cluster]\n")
        config.write_text(f"{before}\n{table}{after}")
    return "--on", cluster.address


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


DOES_NOT_START = 'command = ["python3", "-c", "import nosuch", "{prompt}"]\ndialect = "openai-chat"\n'


def test_verdicts_are_those_of_a_local_run_from_the_same_cassettes(project: Project, cluster: Cluster) -> None:
    """Passes, failures with their reasons, chains of calls and fingerprints, by two workers."""
    project.write(demeanor_toml=CONFIG, evals__eval_notes_py=EVALS, large_yaml=SCRIPT)
    assert project.demeanor("run", "--record", "--policy", "all").returncode == 1
    assert project.demeanor("run", "--replay", "--policy", "all", "--seed", "1").returncode == 1
    here = judged(project)
    ran = project.demeanor("run", "--replay", "--policy", "all", "--seed", "1", *on(project, cluster))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "1 passed · 1 failed" in ran.stdout
    assert "the worker old" in ran.stdout
    there = judged(project)
    assert len(there) == len(here) == 2
    for one, other in zip(there, here, strict=True):
        assert {name: value for name, value in one.items() if value != other.get(name)} == {}


def test_check_shows_the_workers_that_are_not_used_and_why(project: Project, cluster: Cluster) -> None:
    """Another version, another time, no sandbox, a full disk, code instead of answers; and an agent is broken."""
    config = f'[executor]\non = "{cluster.address}"\n[executor.cluster]\ncerts = "{cluster.certs}"\n'
    project.write(demeanor_toml=f'{config}[agents.bad]\nadapter = "command"\n{DOES_NOT_START}')
    subjects = ("--subject", "native:scripted", "--subject", "bad:scripted")
    ran = project.demeanor("cluster", "check", *subjects, "--json")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    found = {worker["name"]: worker for worker in json.loads(ran.stdout)}
    assert {name for name, worker in found.items() if worker["used"]} == {"good-1", "good-2"}
    assert "it has Demeanor 0.0.1" in found["old"]["problem"]
    assert "its clock is" in found["late"]["problem"]
    assert "bubblewrap" in found["bare"]["problem"]
    assert "No space left on device" in found["full"]["problem"]
    assert "sent something else than data" in found["rogue"]["problem"]
    assert not (cluster.folder / "unpickled").exists()
    assert found["good-1"]["sandbox"] == "bubblewrap"
    assert "native" in found["good-1"]["agents"]
    for name in ("good-1", "good-2"):
        assert list(found[name]["broken"]) == ["bad"]
        assert "No module named 'nosuch'" in found[name]["broken"]["bad"]


def test_secrets_of_workers_stay_there_and_agents_do_not_reach_the_scheduler(
    project: Project, cluster: Cluster
) -> None:
    """The agent prints a variable of the worker, and tries to connect to the scheduler; outside it could."""
    host, port = cluster.address.removeprefix("tls://").rsplit(":", 1)
    reach = f"if bash -c 'exec 3<>/dev/tcp/{host}/{port}' 2> /dev/null; then echo reached; else echo not reached; fi"
    outside = subprocess.run(["sh", "-c", reach], check=True, capture_output=True, text=True)
    assert outside.stdout == "reached\n"
    script = f"#!/bin/sh\necho key $ACME_TOKEN | tee a.txt\n{reach}\n"
    project.write(demeanor_toml=TELLS, teller_sh=script, evals__eval_a_py=WRITES)
    (project.folder / "teller.sh").chmod(0o755)
    ran = project.demeanor("run", *on(project, cluster), "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "2 workers, 2 slots" in ran.stderr
    stored = b"".join(path.read_bytes() for path in (project.folder / "results").rglob("*") if path.is_file())
    printed = latest(project).records()[0].stdout
    assert "key ‹redacted:ACME_TOKEN" in printed
    assert printed.endswith("\nnot reached")
    assert SECRET.encode() not in stored
    for log in cluster.folder.glob("*.log"):
        assert SECRET not in log.read_text("utf-8", "replace"), log.name


@pytest.mark.parametrize("how", ["plain", "certificate"])
def test_a_cluster_without_trusted_tls_is_refused(project: Project, cluster: Cluster, how: str) -> None:
    """Nothing is run or written."""
    others = project.folder.parent / "others"
    write_certificate(others)
    certs = f'[executor.cluster]\ncerts = "{others}"\n'
    project.write(demeanor_toml=CONFIG + certs, evals__eval_notes_py=EVALS, large_yaml=SCRIPT)
    address = cluster.address.replace("tls://", "tcp://") if how == "plain" else cluster.address
    ran = project.demeanor("run", "--on", address)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert ("is not an address of TLS" if how == "plain" else "can't be reached") in ran.stderr
    assert not list((project.folder / "results").glob("2*"))


class Gate:
    """A lock that the attempts of a project wait for, without using CPU time."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.close()

    def close(self) -> None:
        """Let attempts wait."""
        fcntl.flock(self._file, fcntl.LOCK_EX)

    def open(self) -> None:
        """Let attempts continue."""
        fcntl.flock(self._file, fcntl.LOCK_UN)


@pytest.fixture
def gate(project: Project) -> Iterator[Gate]:
    """The gate of `waiting_project`, closed."""
    with (project.folder.parent / "gate").open("w") as file:
        yield Gate(file)


def waiting_project(project: Project, more: str = "", name: str = "writes_the_file") -> None:
    """A project whose agent waits at a gate."""
    evals = WRITES.replace("writes_the_file", name)
    project.write(demeanor_toml=WAITS.replace("{folder}", str(project.folder.parent)) + more, evals__eval_a_py=evals)
    (project.folder.parent / "waiter.sh").write_text(WAITER.replace("{folder}", str(project.folder.parent)))


def start_run(project: Project, *options: str, attempts: int = 1) -> subprocess.Popen[str]:
    """A run whose attempts wait at the gate; returns when so many have started."""
    number = attempts_started(project) + attempts
    process = subprocess.Popen(
        project.command("run", *options), cwd=project.folder, env=project.env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    wait_for(lambda: attempts_started(project) >= number or process.poll() is not None, "attempts have started")
    assert process.poll() is None, process.communicate()[0]
    return process


def start_inside(project: Project, log: Path, namespaces: int, *options: str, attempts: int) -> preloaded.Started:
    """The same in the namespaces of a process; its output is in a file."""
    number = attempts_started(project) + attempts
    with log.open("w") as file:
        process = preloaded.start(
            "demeanor", ("run", *options), cwd=project.folder, env=project.env, out=file.fileno(), err=file.fileno(),
            server="cluster", namespaces=namespaces,
        )  # fmt: skip
    wait_for(lambda: attempts_started(project) >= number or process.poll() is not None, "attempts have started")
    assert attempts == 0 or process.poll() is None, log.read_text()
    return process


def attempts_started(project: Project) -> int:
    """How many attempts have started so far."""
    return len(list(project.folder.parent.glob("started.*")))


SCHEDULER, WORKER = "plugins.cluster.local_cluster", "multiprocessing.spawn"


def cluster_processes(project: Project, program: str) -> list[int]:
    """The scheduler or the workers of a run's own cluster."""
    return [pid for pid, line in processes_with(str(project.folder.parent)).items() if program in line]


def nothing_left(project: Project) -> bool:
    """Whether no process of a run is left anywhere."""
    return not processes_with(str(project.folder.parent)) and not with_command(str(project.folder.parent))


def final_trials(project: Project) -> list[str]:
    """The trials of the newest run that have a final verdict, one entry per verdict."""
    return sorted(record.trial for record in latest(project).records() if record.final)


def voids(project: Project) -> list[str]:
    """Why attempts of the newest run are void, because of their workers."""
    found = [record.verdict for record in latest(project).records()]
    return [verdict.detail for verdict in found if isinstance(verdict, Void) and verdict.cause is VoidCause.WORKER]


@pytest.fixture
def failing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Workers that will fail, each in a way of its own. Some of them and the conductor have networks of their own."""
    with PrivateNetwork("conductor", "cut", "silent") as network:
        found = Cluster(tmp_path_factory.mktemp("failing"), network)
        patient = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "600s"}  # or Dask ends a worker that was cut off too long
        try:
            found.start_scheduler(**patient)
            found.start_worker("liar", preload=LIAR)
            found.start_worker("killed")
            found.start_worker("orphan", nanny=True)
            found.start_worker("silent")
            found.start_worker("cut", **patient)
            found.wait_for_workers()
            yield found
        finally:
            found.stop()


def test_workers_that_fail_in_every_way_void_their_attempts_and_nothing_else(
    project: Project, failing: Cluster, gate: Gate
) -> None:
    """In one run: kill -9 of a worker and of a nanny, a worker that is silent and one whose network is cut, which both
    come back, and a forged result. Then the conductor loses its network."""
    assert failing.network is not None
    waiting_project(project, more="[executor.cluster]\nsilence = 10\n", name="lied_about")
    log = project.folder.parent / "output"
    inside = failing.network.pid("conductor")
    process = start_inside(project, log, inside, *on(project, failing), "--trials", "5", attempts=5)
    os.kill(failing.pid("killed"), signal.SIGKILL)
    os.kill(failing.pid("orphan"), signal.SIGKILL)
    os.kill(failing.pid("silent"), signal.SIGSTOP)
    failing.network.cut("cut")
    try:
        wait_for(lambda: lost_workers(project) >= {"killed", "orphan", "silent", "cut"}, "the void attempts")
    finally:
        os.kill(failing.pid("silent"), signal.SIGCONT)
        failing.network.mend("cut")
    wait_for(lambda: re.findall(r"\d workers?, \d slots?", log.read_text())[-1].startswith("3"), "their return")
    gate.open()
    assert process.wait(PATIENCE) == 0, log.read_text()
    reasons = "\n".join(voids(project))
    assert re.search(r"the worker silent \(.*\) was lost: it did not answer", reasons), reasons
    assert re.search(r"the worker cut \(.*\) was lost: it did not answer", reasons), reasons
    assert re.search(r"the worker liar \(.*\) sent an invalid result: it belongs to 'another/trial/1'", reasons), (
        reasons
    )
    assert final_trials(project) == [f"lied_about/waiter/{number}" for number in range(1, 6)]
    assert log.read_text().count("answers again") >= 2

    gate.close()
    process = start_inside(project, log, inside, *on(project, failing), attempts=1)
    failing.network.cut("conductor")
    assert process.wait(PATIENCE) == 3, log.read_text()
    assert "the connection to the scheduler was lost" in log.read_text()
    failing.network.mend("conductor")
    gate.open()
    process = start_inside(project, log, inside, "--resume", "latest", *on(project, failing), attempts=0)
    assert process.wait(PATIENCE) == 0, log.read_text()
    assert final_trials(project) == ["lied_about/waiter/1", "lied_about/waiter/2"]


def lost_workers(project: Project) -> set[str]:
    """The names of the workers that were lost with an attempt."""
    return {name for why in voids(project) for name in re.findall(r"the worker (\S+) \(.*\) was lost", why)}


@pytest.mark.usefixtures("gate")
def test_ctrl_c_ends_all_attempts_on_all_workers(project: Project, cluster: Cluster) -> None:
    """The workers of an existing cluster go on; nothing of the run does."""
    waiting_project(project)
    process = start_run(project, *on(project, cluster), attempts=2)
    process.send_signal(signal.SIGINT)
    output = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 130, output
    wait_for(lambda: nothing_left(project), "the end of all processes")
    assert cluster.running["good-1"].poll() is None


def test_a_run_survives_kill_9_of_its_worker_its_scheduler_and_its_conductor(project: Project, gate: Gate) -> None:
    """On a cluster of its own: the worker is started again; after the others, `--resume` makes what is missing."""
    waiting_project(project)
    process = start_run(project, "--on", "1")
    os.kill(cluster_processes(project, WORKER)[0], signal.SIGKILL)
    wait_for(lambda: attempts_started(project) > 1 or process.poll() is not None, "the second attempt")
    os.kill(cluster_processes(project, SCHEDULER)[0], signal.SIGKILL)
    output = process.communicate(timeout=PATIENCE)[0]
    assert process.returncode == 3, output
    assert "was lost" in output
    wait_for(lambda: nothing_left(project), "the end of all processes")
    process = start_run(project, "--resume", "latest", "--on", "1")
    process.kill()
    process.communicate(timeout=PATIENCE)
    wait_for(lambda: nothing_left(project), "the end of all processes")
    gate.open()
    ran = project.demeanor("run", "--resume", "latest")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert final_trials(project) == ["writes_the_file/waiter/1", "writes_the_file/waiter/2"]
    assert len(voids(project)) >= 2


def commit(project: Project, message: str) -> None:
    """Commit everything."""
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", message)):
        subprocess.run([*git, *words], cwd=project.folder, check=True)


def test_nights_gates_comparisons_and_bisections_run_on_a_cluster(project: Project, cluster: Cluster) -> None:
    """Two commits, the second of which breaks the agent; workers build it."""
    building = '\nbuild = { command = ["sh", "build.sh"] }\n'
    executor = f'[executor.cluster]\nbuild = "worker"\ncerts = "{cluster.certs}"\nslots = 2\n'
    agent = '[agents.built]\nadapter = "command"\ncommand = ["./out/agent.sh", "{prompt}"]\n'
    build = "mkdir -p out; printf '#!/bin/sh\\necho hi > a.txt\\n' > out/agent.sh; chmod +x out/agent.sh\n"
    project.write(
        demeanor_toml=f'subjects = ["built"]\n{building}{executor}{agent}',
        build_sh=build,
        evals__eval_a_py=WRITES,
        _gitignore="results\n",
    )
    commit(project, "good")
    for command in (("nightly", "--trials", "1"), ("gate",)):
        ran = project.demeanor(*command, *on(project, cluster))
        assert ran.returncode == 0, ran.stdout + ran.stderr
    project.write(build_sh=build.replace("a.txt", "b.txt"))
    commit(project, "bad")
    ran = project.demeanor("compare", "--base", "HEAD~1", "--trials", "3", *on(project, cluster))
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert re.search(r"regressed +writes_the_file +always +3/3 +0/3", ran.stdout)
    options = ("--good", "HEAD~1", "--bad", "HEAD", "--on", "1")
    ran = project.demeanor("bisect", "writes_the_file", *options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert not (project.folder / "out").exists(), "it was built on the conductor"
