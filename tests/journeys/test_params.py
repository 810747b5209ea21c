"""An eval's `params`: what an agent does not know is an error, and the rest reaches the agent."""

from __future__ import annotations

import pytest

from tests.helpers.project import Project

EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Hi.", params={params}, trials=1)
def greets(rig, result):
    assert "seen in" in rig.stdout and "workspace" in rig.stdout
"""
CONFIG = """\
[agents.mine]
adapter = "command"
command = ["sh", "-c", "echo $A $(cat $HOME/.mine)", "sh", "{prompt}"]
env = { A = "unset" }
"""


@pytest.mark.parametrize("subject", ["mine", "native:scripted", "goose:scripted", "claude-code:scripted"])
def test_an_unknown_key_is_an_error(project: Project, subject: str):
    """It names the file, the key and what the agent accepts; no agent is started."""
    project.write(demeanor_toml=CONFIG, evals__eval_a_py=EVAL.format(params={"temprature": 1}))
    ran = project.demeanor("run", "--subject", subject)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    agent = subject.partition(":")[0]
    assert f"eval_a.py: params.temprature: {agent} does not know this key" in ran.stderr
    assert "it accepts" in ran.stderr
    assert "env" in ran.stderr


def test_a_wrong_value_is_an_error(project: Project):
    """As in the configuration."""
    project.write(demeanor_toml=CONFIG, evals__eval_a_py=EVAL.format(params={"home_files": {"../x": ""}}))
    ran = project.demeanor("run", "--subject", "mine")
    assert ran.returncode == 2
    assert "eval_a.py: params.home_files.../x:" in ran.stderr


def test_an_eval_sets_variables_and_files_of_a_command(project: Project):
    """With placeholders."""
    params = {"env": {"A": "seen"}, "home_files": {".mine": "in {workspace}"}}
    project.write(demeanor_toml=CONFIG, evals__eval_a_py=EVAL.format(params=params))
    ran = project.demeanor("run", "--subject", "mine")
    assert ran.returncode == 0, ran.stdout + ran.stderr


TOOLS = """\
from pathlib import Path

def agent(session):
    session.say(Path({path!r}).read_text())
"""
READS = """\
[agents.toy]
adapter = "python"
function = "toy.py:agent"
reads = {reads}
"""
SAYS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Hi.", trials=1)
def reads_it(rig, result):
    assert "outside" in result
"""


def test_a_python_agent_can_read_more_files(project: Project):
    """The sandbox hides a file of the host unless `reads` names it."""
    data = project.folder.parent / "data"
    data.mkdir()
    (data / "data.txt").write_text("outside\n")
    project.write(toy_py=TOOLS.format(path=str(data / "data.txt")), evals__eval_a_py=SAYS)
    project.write(demeanor_toml=READS.format(reads=[]))
    assert project.demeanor("run", "--subject", "toy").returncode == 1
    project.write(demeanor_toml=READS.format(reads=["../data"]))
    ran = project.demeanor("run", "--subject", "toy")
    assert ran.returncode == 0, ran.stdout + ran.stderr
