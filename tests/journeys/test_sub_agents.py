"""Sub-agents and side requests of real agents, driven by a scripted model."""

from __future__ import annotations

import os

import pytest

from tests.helpers.installed_agents import AGENTS_FOLDER, installed
from tests.helpers.project import Project

pytestmark = pytest.mark.agents

MODEL = """
TASK = "SUBTASK: look at a.txt"


def play(turn):
    if "Managed memory" in turn.prompt:
        return "Nothing."
    if turn.prompt == TASK:
        return "Report: 8431" if turn.done else turn.call("execute", command="echo looked > looked.txt")
    if "elegate" in turn.prompt and turn.done == 0:
        return turn.call_tool("agent", {"prompt": TASK, "description": "look", "subagent_type": "general-purpose"})
    return "Done."
"""
EVALS = """
from demeanor import ALWAYS_PASSES, eval_test


@eval_test(ALWAYS_PASSES, prompt="Delegate it to a sub-agent.", files={"a.txt": "x"})
def delegates(rig, result):
    assert result == rig.main.final_text == "Done."
    (helper,) = rig.sub_agents
    assert helper.final_text == "Report: 8431"
    assert helper.started_by is not None and helper.calls.of_kind("execute")
    assert not rig.main.calls.of_kind("execute")


@eval_test(ALWAYS_PASSES, prompt="Say that you are done.", files={"a.txt": "x"})
def answers(rig, result):
    assert result == "Done."
    assert rig.turns == 1 and not rig.sub_agents and not rig.calls
"""


def test_the_agent_itself_is_told_from_its_sub_agents(project: Project):
    """Qwen Code asks for its memory beside its work. Other agents with sub-agents: test_real_agents.py."""
    installed("qwen-code")
    project.write(demeanor_toml='[models.m]\nscript = "model.py"\n', model_py=MODEL, eval_sub_agents_py=EVALS)
    words = ("run", "eval_sub_agents.py", "--policy", "all", "--trials", "1", "--subject", "qwen-code:m")
    ran = project.demeanor(*words, DEMEANOR_AGENTS=str(AGENTS_FOLDER), PATH=os.environ["PATH"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
