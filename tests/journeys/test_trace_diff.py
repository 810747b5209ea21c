"""`demeanor trace --diff`: a failing trial side by side with the most similar passing one."""

from __future__ import annotations

import json

import pytest

from tests.helpers.project import Project

EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Raise the port in port.txt to 9090.", files={"port.txt": "port = 8080\\n"})
def reads_first(rig, result):
    assert rig.calls.of_kind("read").count() >= 1
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


@pytest.fixture
def ran(project: Project) -> Project:
    """Six trials, some of which read first."""
    project.write(evals__eval_port_py=EVAL, hasty_py=SCRIPT, demeanor_toml=CONFIG)
    done = project.demeanor("run", "--policy", "all", "--trials", "6", "--seed", "1")
    assert "FLAKY" in done.stdout, done.stdout + done.stderr
    return project


def test_the_failing_trial_is_compared_with_the_most_similar_passing_one(ran: Project):
    """It is found automatically."""
    shown = ran.demeanor("trace", "--diff", COLUMNS="110")
    assert shown.returncode == 0, shown.stderr
    assert "FAIL" in shown.stdout.splitlines()[0]
    assert "They diverge at the first step." in shown.stdout
    first = next(line for line in shown.stdout.splitlines() if "►" in line)
    assert first.index("·") < first.index("read_file(path='port.txt')")


def test_a_narrow_terminal_shows_one_below_the_other(ran: Project):
    """No line is wider than the terminal."""
    shown = ran.demeanor("trace", "--diff", COLUMNS="50")
    steps = shown.stdout.split("\n\n")[-1]
    assert "B read_file" in steps
    assert max(map(len, steps.splitlines())) <= 50


def test_the_alignment_is_available_as_json(ran: Project):
    """Both sides of every step, and whether they are the same."""
    shown = ran.demeanor("trace", "--diff", "--json")
    steps = json.loads(shown.stdout)["steps"]
    assert [step["same"] for step in steps] == [False, True, True]


def test_without_a_passing_trial_the_error_suggests_another_run(ran: Project):
    """With --against."""
    config = (ran.folder / "hasty.py").read_text()
    (ran.folder / "hasty.py").write_text(config.replace("0.5", "1.0"))
    ran.demeanor("run", "--policy", "all", "--trials", "1", "--seed", "1")
    shown = ran.demeanor("trace", "--diff")
    assert shown.returncode == 2
    assert "--against RUN" in shown.stderr
    runs = sorted(path.name for path in (ran.folder / "results").iterdir() if path.is_dir() and not path.is_symlink())
    assert "They diverge at the first step." in ran.demeanor("trace", "--diff", "--against", runs[0]).stdout
