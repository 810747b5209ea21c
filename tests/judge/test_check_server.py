"""Checks run where they can be killed: none of them can hang or end a run, or change what is stored."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.processes import alive
from tests.helpers.project import Project
from tests.journeys.test_crash import processes_of
from tests.journeys.test_survival import until

CONFIG = """\
subjects = ["writer"]
sandbox = "none"
check_timeout = {limit}
jobs = 2
[agents.writer]
adapter = "command"
command = ["sh", "-c", "{script}", "{{prompt}}"]
"""
SCRIPT = f"printf {'a' * 40}b > out.txt; printf '[%.0s' $(seq 9999) > deep.json"
HEAD = """\
import json, os, re, subprocess, time
from pathlib import Path
from demeanor import ALWAYS_PASSES, USUALLY_PASSES, eval_test

def good(stage):
    (stage.workspace / "out.txt").write_text("aaa")
    (stage.workspace / "deep.json").write_text("{}")
"""


def verdicts(project: Project) -> dict[str, Any]:
    """Eval → the verdict of its last attempt."""
    lines = (project.folder / "results/latest/ledger.jsonl").read_text().splitlines()
    return {record["eval"]: record["verdict"] for record in map(json.loads, lines)}


def run(project: Project, evals: str, *, limit: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run some evals, one trial each."""
    project.write(demeanor_toml=CONFIG.format(script=SCRIPT, limit=limit), evals__eval_a_py=HEAD + evals)
    return project.demeanor("run", "--policy", "all", "--trials", "1")


ENDLESS = """
@eval_test(USUALLY_PASSES, prompt="Write.", passes_on=good)
def endless_content(rig, result):
    while rig.workspace["out.txt"].text != "aaa":
        time.sleep(3600)

@eval_test(USUALLY_PASSES, prompt="Write.", passes_on=good)
def endless(rig, result):
    while True:
        time.sleep(3600)

@eval_test(USUALLY_PASSES, prompt="Write.")
def without_rehearsals(rig, result):
    subprocess.run(["sleep", "3600"])
"""
SLOW_PATTERN = """\
policy = "USUALLY_PASSES"
prompt = "Write."
[[checks]]
check = "file_matches"
path = "out.txt"
pattern = "^(a+)+$"
[passes_on]
files."out.txt" = "aaa"
"""


def test_a_check_that_does_not_end_is_killed(project: Project) -> None:
    """One that does not end on what the agent wrote is the agent's failure, also a pattern of a scenario file; a check
    that never ends is broken."""
    project.write(evals__slow_pattern__scenario_toml=SLOW_PATTERN)
    ran = run(project, ENDLESS, limit=2)
    found = verdicts(project)
    assert ran.returncode == 1, ran.stderr
    assert {name: found[name]["outcome"] for name in ("endless_content", "slow_pattern")} == {
        "endless_content": "fail",
        "slow_pattern": "fail",
    }
    assert "did not end within 2 s" in found["slow_pattern"]["findings"][0]["reason"]
    reason = found["endless_content"]["findings"][0]["reason"]
    assert "endless_content did not end within 2 s" in reason
    assert "works on the eval's own rehearsals" in reason
    assert (found["endless"]["outcome"], found["endless"]["cause"]) == ("void", "check")
    assert "also crashes on the eval's own rehearsals" in found["endless"]["detail"]
    assert (found["without_rehearsals"]["outcome"], found["without_rehearsals"]["cause"]) == ("void", "check")
    assert "add passes_on" in found["without_rehearsals"]["detail"]
    until(lambda: processes_of(project) == [])
    assert project.temporary() == []


CRASHES = """
@eval_test(USUALLY_PASSES, prompt="Write.", passes_on=good)
def deep(rig, result):
    json.loads(rig.workspace["deep.json"].text)

@eval_test(USUALLY_PASSES, prompt="Write.", passes_on=good)
def typo(rig, result):
    assert rig.workspace["out.txt"].txt

@eval_test(USUALLY_PASSES, prompt="Write.", passes_on=good)
def ends_the_process(rig, result):
    if rig.workspace["out.txt"].text != "aaa":
        os._exit(0)

def unplayable(stage):
    stage.no_such_method()

@eval_test(USUALLY_PASSES, prompt="Write.", passes_on=unplayable)
def cannot_be_rehearsed(rig, result):
    json.loads(rig.workspace["deep.json"].text)

@eval_test(USUALLY_PASSES, prompt="Write.", passes_on=good)
def next_eval(rig, result):
    assert rig.workspace.run("cat", "out.txt").stdout.startswith("aaa")
"""


def test_a_crash_is_the_fault_of_the_eval_or_of_the_content(project: Project) -> None:
    """The same check on the eval's rehearsals tells which."""
    ran = run(project, CRASHES)
    found = verdicts(project)
    assert ran.returncode == 1, ran.stderr
    assert found["deep"]["outcome"] == "fail"
    assert "crashed: RecursionError" in found["deep"]["findings"][0]["reason"]
    assert (found["typo"]["outcome"], found["typo"]["cause"]) == ("void", "check")
    assert "the eval is broken" in found["typo"]["detail"]
    assert (found["cannot_be_rehearsed"]["outcome"], found["cannot_be_rehearsed"]["cause"]) == ("void", "check")
    assert "rehearsals can't be played" in found["cannot_be_rehearsed"]["detail"]
    assert found["ends_the_process"]["outcome"] == "fail"
    assert found["next_eval"]["outcome"] == "pass"


ALTERS = """
@eval_test(ALWAYS_PASSES, prompt="Write.", passes_on=good)
def alters(rig, result):
    after = rig._evidence.after
    after.entries.clear()
    object.__setattr__(rig._evidence.spent, "seconds", 12345.0)
    print("seen by the reader")
"""


def test_a_check_can_not_alter_what_is_stored_and_can_print(project: Project) -> None:
    """The evidence that a check gets is a copy."""
    ran = run(project, ALTERS)
    assert ran.returncode == 0, ran.stderr
    record = json.loads((project.folder / "results/latest/ledger.jsonl").read_text())
    assert record["spent"]["seconds"] < 12345
    assert "out.txt" in (project.folder / f"results/latest/{record['folder']}/workspace.diff").read_text()
    assert record["verdict"]["findings"][0]["reason"] == "printed:\n  seen by the reader"
    assert "seen by the reader" not in ran.stdout


def test_a_check_may_leave_its_process_group(project: Project) -> None:
    """Libraries that daemonise do. It is killed all the same, and the run ends."""
    text = """
@eval_test(USUALLY_PASSES, prompt="Write.")
def leaves(rig, result):
    os.setpgid(0, os.getpgid(os.getppid()))
    while True: time.sleep(1)
"""
    run(project, text, limit=1.0)
    assert "did not end within 1 s" in str(verdicts(project)["leaves"])
    assert processes_of(project) == []


def test_ctrl_c_does_not_wait_for_a_check(project: Project, tmp_path: Path) -> None:
    """A run that only waits for an endless check ends when it is interrupted."""
    begun = project.folder.parent / "begun"
    text = f"""
@eval_test(USUALLY_PASSES, prompt="Write.")
def endless(rig, result):
    Path({str(begun)!r}).touch()
    time.sleep(3600)
"""
    project.write(demeanor_toml=CONFIG.format(script=SCRIPT, limit=3600), evals__eval_a_py=HEAD + text)
    ran = subprocess.Popen(
        project.command("run", "--policy", "all", "--trials", "1"), cwd=project.folder, env=project.env,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(begun.exists)
    ran.send_signal(signal.SIGINT)
    out, err = ran.communicate(timeout=120)
    assert ran.returncode == 130, err
    assert "Traceback" not in err
    assert "demeanor run --resume" in out
    assert (project.folder / "results/latest/ledger.jsonl").read_text() == ""
    until(lambda: processes_of(project) == [])


@pytest.mark.parametrize("killed", ["Demeanor", "all but the check"])
def test_kill_9_leaves_no_check_behind(project: Project, killed: str) -> None:
    """The server of checks notices that Demeanor is gone, and kills its workers. If it is killed too, the kernel does
    that."""
    begun = project.folder.parent / "begun"
    text = f"""
@eval_test(USUALLY_PASSES, prompt="Write.")
def endless(rig, result):
    Path({str(begun)!r}).write_text(f"{{os.getpid()}} {{os.getppid()}} ")
    time.sleep(3600)
"""
    project.write(demeanor_toml=CONFIG.format(script=SCRIPT, limit=3600), evals__eval_a_py=HEAD + text)
    ran = subprocess.Popen(
        project.command("run", "--policy", "all", "--trials", "1"), cwd=project.folder, env=project.env,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    until(lambda: begun.exists() and begun.read_text().endswith(" "))
    if killed != "Demeanor":
        worker, server = map(int, begun.read_text().split())
        os.kill(server, signal.SIGSTOP)  # it can't kill anything
        ran.kill()
        os.kill(server, signal.SIGKILL)
        until(lambda: not alive(worker))
    ran.kill()
    ran.wait()
    until(lambda: processes_of(project) == [])


@pytest.mark.parametrize("options", [("--pdb",), ("-s",), ()])
def test_pytest_runs_checks_with_and_without_a_debugger(project: Project, options: tuple[str, ...]) -> None:
    """With `--pdb`, checks run in pytest's own process."""
    text = f"""
@eval_test(ALWAYS_PASSES, prompt="Write.", trials=1)
def where(rig, result):
    print("the check printed this")
    assert rig.workspace["out.txt"].text != "aaa"
    Path({str(project.folder / "pid")!r}).write_text(str(os.getpid()))
"""
    project.write(
        demeanor_toml=CONFIG.format(script=SCRIPT, limit=60), evals__eval_a_py=HEAD + text,
        conftest_py="import os\nfrom pathlib import Path\n\ndef pytest_configure(config):\n"
        "    Path('main').write_text(str(os.getpid()))\n",
    )  # fmt: skip
    ran = project.pytest("evals", *options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    pids = [(project.folder / name).read_text() for name in ("pid", "main")]
    assert (pids[0] == pids[1]) is ("--pdb" in options)
    assert "the check printed this" not in ran.stdout


def test_a_debugger_finds_the_check_in_its_own_process(project: Project) -> None:
    """Under a trace function, as debuggers and coverage tools install one, nothing is forked."""
    text = """
@eval_test(ALWAYS_PASSES, prompt="Write.", trials=1)
def traced(rig, result):
    assert os.environ["TRACED"] == str(os.getpid())
"""
    project.write(demeanor_toml=CONFIG.format(script=SCRIPT, limit=60), evals__eval_a_py=HEAD + text)
    program = (
        "import os, sys\nos.environ['TRACED'] = str(os.getpid())\nsys.settrace(lambda *_: None)\n"
        "from demeanor.cli.program import main\nsys.exit(main(['run']))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=project.folder, env=project.env, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
