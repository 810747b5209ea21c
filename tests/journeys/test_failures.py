"""`demeanor report --failures`: one thing to fix per group, and commands that work when they are pasted."""

from __future__ import annotations

import json
import shlex

import pytest

from tests.helpers.project import Project

EVALS = """\
from demeanor import USUALLY_FAILS, USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Raise the port in port.txt.", files={"port.txt": "port = 8080\\n"}, trials=6)
def reads_first(rig, result):
    assert rig.calls.of_kind("read").count() >= 1

@eval_test(USUALLY_PASSES, prompt="Lower the port in port.txt.", files={"port.txt": "port = 8080\\n"}, trials=6)
def reads_first_too(rig, result):
    assert rig.calls.of_kind("read").count() >= 1, "it did not read"

@eval_test(USUALLY_PASSES, prompt="Crash.", trials=2)
def breaks(rig, result):
    raise KeyError("x")

@eval_test(USUALLY_FAILS, prompt="Be polite.", trials=2)
def thanks(rig, result):
    assert "thank" in result.lower()
"""
SCRIPT = """\
def play(turn):
    hasty = turn.chance(0.5)
    steps = [] if hasty else [lambda: turn.call("read", path="port.txt")]
    steps.append(lambda: turn.call("edit", path="port.txt", content="port = 9090\\n"))
    return steps[turn.done]() if turn.done < len(steps) else "The port is 9090."
"""
CONFIG = """\
subjects = ["native:hasty"]
[models.hasty]
script = "hasty.py"
"""


def test_failures_are_grouped_and_each_group_is_a_task(project: Project):
    """The same failure in two evals is one group; a crash and a known failure are others."""
    project.write(evals__eval_port_py=EVALS, hasty_py=SCRIPT, demeanor_toml=CONFIG)
    project.demeanor("run", "--policy", "all", "--seed", "1", "--sandbox", "none")
    done = project.demeanor("report", "--failures", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    groups = found["groups"]
    assert [(group["kind"], group["expected"]) for group in groups] == [
        ("divergence", False),
        ("void", False),
        ("finding", True),
    ]
    hasty = groups[0]
    assert {trial["eval"] for trial in hasty["trials"]} == {"reads_first", "reads_first_too"}
    assert hasty["parting"]["instead"].startswith("read_file(")
    assert sum(len(group["trials"]) for group in groups) == found["failed"] + found["voided"]

    brief = project.demeanor("report", "--brief", "1")
    assert brief.stdout.startswith("# The agent takes a different path: ")
    for command in (hasty["trace"], hasty["reproduce"]):
        assert command in brief.stdout
        program, *words = shlex.split(command)
        assert program == "demeanor"
        tried = project.demeanor(*words, *(("--seed", "1") if words[0] == "run" else ()))
        assert tried.returncode in {0, 1}, tried.stderr
        assert "reads_first" in tried.stdout
    whole = project.demeanor("report", found["run"], "--failures", "--format", "markdown").stdout
    assert whole.count("## What to do") == 3
    assert project.demeanor("report", "--brief", "9").returncode == 2


@pytest.mark.parametrize("width", [60, 140])
def test_a_run_without_a_pass_is_compared_with_an_earlier_one(project: Project, width: int):
    """The command that shows it names that run."""
    project.write(evals__eval_port_py=EVALS, hasty_py=SCRIPT.replace("0.5", "0.0"), demeanor_toml=CONFIG)
    run = ("run", "evals/eval_port.py::reads_first", "--trials", "1", "--seed", "1", "--sandbox", "none")
    project.demeanor(*run)
    earlier = (project.folder / "results/latest").resolve().name
    project.write(hasty_py=SCRIPT.replace("0.5", "1.0"))
    project.demeanor(*run)
    shown = project.demeanor("report", "--failures", COLUMNS=str(width)).stdout
    assert "never calls read_file; a passing trial does" in " ".join(shown.split())
    command = shown[shown.index("$ demeanor trace") + 2 :].split("   $ ")[0].replace("\\\n", "")
    assert f"--against {earlier}" in command
    assert "They diverge at the first step." in project.demeanor(*shlex.split(command)[1:]).stdout


def test_a_run_without_failures_has_no_groups(project: Project):
    """And an unknown run is an error."""
    project.write(evals__eval_port_py=EVALS, hasty_py=SCRIPT.replace("0.5", "0.0"), demeanor_toml=CONFIG)
    project.demeanor("run", "evals/eval_port.py::reads_first", "--trials", "1", "--seed", "1", "--sandbox", "none")
    assert "no failures in 1 trial" in project.demeanor("report", "--failures").stdout
    unknown = project.demeanor("report", "--failures", "nope")
    assert unknown.returncode == 2
    assert "unknown run 'nope'" in unknown.stderr
