"""Agents from npm, forked: the same real program, replayed to its third step and continued by another model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.helpers.installed_agents import AGENTS_FOLDER, installed, selected_agents
from tests.helpers.project import Project

pytestmark = pytest.mark.agents

MODELS = """\
NAMES = ("a.txt", "b.txt", "c.txt")


def careless(turn):
    return step(turn, "wrong" if turn.done == 1 else "right")


def late(turn):
    return "I was asked too early." if turn.done < 1 else step(turn, "right")


def step(turn, word):
    if turn.done == len(NAMES):
        return "Done."
    return turn.call("edit", path=NAMES[turn.done], content=word)
"""
CONFIG = """\
[models]
careless = {script = "models.py:careless"}
late = {script = "models.py:late"}
"""
EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Write the three files.")
def writes_the_files(rig, result):
    assert [rig.workspace[f"{name}.txt"].text.strip() for name in "abc"] == ["right"] * 3
"""
ENV = {"DEMEANOR_AGENTS": str(AGENTS_FOLDER)}


@pytest.mark.parametrize("name", selected_agents(("goose", "claude-code", "codex")))
def test_a_real_agent_continues_a_recorded_trial(project: Project, name: str):
    """From the wrong step on with a model that does it right: it passes. One step later it is too late."""
    installed(name)
    project.write(models_py=MODELS, demeanor_toml=CONFIG, evals__eval_files_py=EVAL)
    ran = project.demeanor("run", "--policy", "all", "--trials", "1", "--subject", f"{name}:careless", **ENV)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    for step, passed in ((2, 1), (3, 0)):
        words = ("--at", str(step), "--trials", "1", "--subject", f"{name}:late", "--json")
        done = project.demeanor("fork", "writes_the_files", *words, **ENV)
        assert done.returncode == 0, done.stdout + done.stderr
        found = json.loads(done.stdout)["steps"][step - 1]
        assert (found["passed"], found["failed"], found["voided"]) == (passed, 1 - passed, 0)


def test_goose_with_another_prompt_is_refused(project: Project):
    """It differs from the recording in its first request, so its trials are void."""
    installed("goose")
    project.write(models_py=MODELS, demeanor_toml=CONFIG, evals__eval_files_py=EVAL)
    run = ("run", "--policy", "all", "--trials", "1", "--subject", "goose:careless")
    assert project.demeanor(*run, **ENV).returncode == 1
    toml = Path(project.folder, "demeanor.toml")
    toml.write_text(toml.read_text() + '\n[agents.goose]\nargs = ["--system", "Speak Latin."]\n')
    done = project.demeanor("fork", "--at", "2", "--trials", "1", "--json", **ENV)
    assert done.returncode == 3, done.stdout + done.stderr
    step = json.loads(done.stdout)["steps"][1]
    assert (step["voided"], "Speak Latin." in step["why_void"]) == (1, True), step["why_void"]
