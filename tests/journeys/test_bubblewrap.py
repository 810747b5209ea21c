"""The default sandbox, through the command line: isolation, reported limits, and nothing left behind."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from tests.helpers.processes import with_environ
from tests.helpers.project import Project
from tests.sandboxes.conftest import mounts

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed")

CONFIG = """\
subjects = ["mine"]
attempts = 1
trials = 1
{more}
[agents.mine]
adapter = "command"
command = ["sh", "-c", "{script}", "{{prompt}}"]
env = {{ MARK = "{mark}" }}
"""
EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write.", timeout=300{more})
def writes(rig, result):
    assert rig.workspace["out.txt"].text == "hi"
    assert rig.workspace.run("grep", "-q", "hi", "out.txt").exit_code == 0
"""


def write(project: Project, script: str, *, config: str = "", eval_more: str = "", mark: str = "") -> None:
    """A project with one agent, which is a shell script, and one eval."""
    text = CONFIG.format(script=script, more=config, mark=mark)
    project.write(demeanor_toml=text, evals__eval_writes_py=EVAL.format(more=eval_more))


def captures(project: Project) -> list[dict[str, Any]]:
    """What was kept of each attempt of the latest run."""
    with gzip.open(project.folder / "results/latest/captures.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


def until(condition: Callable[[], bool]) -> None:
    """Wait for something, not for a time."""
    deadline = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_a_trial_runs_isolated_and_its_record_says_so(project: Project) -> None:
    """The level, each limit and how hard it is, the network, and what was proven before."""
    write(project, "printf hi > out.txt; ls /root /home; cat /etc/shadow; true")
    ran = project.demeanor("run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (capture,) = captures(project)
    facts = capture["facts"]
    assert (facts["sandbox"], facts["network"], facts["ends"]) == ("bubblewrap", "gateway", "pid namespace")
    assert facts["limit.processes"] == "hard 1024"
    assert facts["limit.memory"].startswith("soft ")
    assert facts["probes"].startswith("31 tried 20")
    assert "probes.open" not in facts
    assert "agent" in capture["ends"][0]["stdout"]["text"]
    assert project.temporary() == []


def test_what_hostile_programs_reach_is_found_out_once(project: Project) -> None:
    """Later runs know it; and where a promise was found broken, nothing is run."""
    write(project, "printf hi > out.txt")
    cache = project.folder.parent / "cache"
    assert project.demeanor("run", DEMEANOR_CACHE=str(cache)).returncode == 0
    (proof,) = (cache / "probes").iterdir()
    found = json.loads(proof.read_text())
    proof.write_text(json.dumps({**found, "when": "2001-01-01T00:00:00+00:00"}))
    assert project.demeanor("run", DEMEANOR_CACHE=str(cache)).returncode == 0
    assert captures(project)[0]["facts"]["probes"].startswith("31 tried 2001-01-01")
    found["probes"][2] |= {"state": "open", "expected": False}
    proof.write_text(json.dumps(found))
    runs = sorted((project.folder / "results").iterdir())
    ran = project.demeanor("run", DEMEANOR_CACHE=str(cache))
    assert ran.returncode == 2
    assert "breaks its guarantees on this machine: read another user's file: open" in ran.stderr
    assert "demeanor doctor --sandboxes" in ran.stderr
    assert sorted((project.folder / "results").iterdir()) == runs
    assert project.temporary() == []


def test_less_must_be_asked_for_by_name(project: Project) -> None:
    """Where bubblewrap is missing nothing is run, and the error says what to do."""
    write(project, "printf hi > out.txt")
    tools = project.folder.parent / "tools"
    tools.mkdir()
    for name in ("sh", "git", "grep", "printf"):
        (tools / name).symlink_to(shutil.which(name) or "")
    ran = project.demeanor("run", PATH=str(tools))
    assert ran.returncode == 2
    assert "the sandbox 'bubblewrap' does not work on this machine: bwrap is not on PATH" in ran.stderr
    assert "install bubblewrap" in ran.stderr
    assert "--sandbox none" in ran.stderr
    assert not (project.folder / "results").exists()
    assert project.demeanor("run", "--sandbox", "none", PATH=str(tools)).returncode == 0


@pytest.mark.parametrize("command", ["validate", "adopt", "doctor", "rejudge", "fork", "cover", "bisect", "fix"])
def test_every_command_that_uses_a_sandbox_takes_the_option_of_its_remedy(project: Project, command: str) -> None:
    """`or use weaker isolation, which works here: --sandbox landlock` must work where it is shown."""
    shown = project.demeanor(command, "--help").stdout
    assert "--sandbox LEVEL" in shown or "--sandbox {" in shown


def test_the_least_that_is_wanted_is_kept(project: Project) -> None:
    """Whatever is asked for on the command line."""
    write(project, "printf hi > out.txt", config='min_isolation = "bubblewrap"')
    ran = project.demeanor("run", "--sandbox", "none")
    assert ran.returncode == 2
    assert "min_isolation" in ran.stderr


def test_a_scenario_may_ask_for_the_hosts_network_and_the_report_says_so(project: Project) -> None:
    """It is said in the record and in the notes."""
    write(project, "ls /sys/class/net >/dev/null 2>&1; printf hi > out.txt", eval_more=', network="host"')
    ran = project.demeanor("run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "network of the host" in " ".join(ran.stdout.split())
    assert captures(project)[0]["facts"]["network"] == "host"


def test_an_agent_without_any_network_is_not_asked_for_what_needs_one(project: Project) -> None:
    """It is skipped, and that is seen; an agent that needs no model runs."""
    project.write(demeanor_toml='network = "none"\n', evals__eval_writes_py=EVAL.format(more=""))
    ran = project.demeanor("run", "--subject", "native:scripted")
    assert 'native needs its model, but the network is "none"' in " ".join(ran.stdout.split())
    write(project, "printf hi > out.txt", config='network = "none"')
    assert project.demeanor("run").returncode == 0


def test_limits_are_those_of_the_configuration(project: Project) -> None:
    """A disk of one mebibyte is full; too much memory fails the trial, and the reason is given."""
    write(project, "head -c 4000000 /dev/zero > big; printf hi > out.txt", config='[limits]\ndisk = "1 MiB"')
    assert project.demeanor("run").returncode == 1
    assert "No space left" in captures(project)[0]["ends"][0]["stderr"]["text"]
    eats = "x=x; while :; do x=$x$x; done"
    write(project, eats, config='[limits]\nmemory = "64 MiB"')
    ran = project.demeanor("run")
    assert ran.returncode == 1
    assert "exceeded its memory limit" in ran.stdout
    write(project, "true", config='[limits]\nmemory = "lots"')
    assert "limits.memory" in project.demeanor("run").stderr


def test_kill_9_of_demeanor_ends_everything_in_the_sandbox(project: Project) -> None:
    """No process, no temp folder and no mount is left."""
    mark = uuid.uuid4().hex
    script = "trap '' TERM; setsid sh -c 'while :; do sleep 0.1; done' & while :; do sleep 0.1; done"
    write(project, script, mark=mark)
    before_mounts = mounts()
    run = subprocess.Popen(
        project.command("run"), cwd=project.folder, env=project.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        until(lambda: len(with_environ(mark)) >= 2)
    finally:
        run.kill()
        run.communicate()
    until(lambda: with_environ(mark) == [])
    until(lambda: project.temporary() == [])
    assert mounts() == before_mounts
