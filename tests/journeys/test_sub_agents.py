"""Sub-agents and side requests of real agents, driven by a scripted model."""

from __future__ import annotations

import os

import pytest

from tests.helpers.installed_agents import AGENTS_FOLDER, installed
from tests.helpers.project import Project

pytestmark = pytest.mark.agents

MODEL = """
import json

TASK = "SUBTASK: look at a.txt"
STARTS = {
    "Agent": {"prompt": TASK, "description": "look", "subagent_type": "general-purpose"},
    "agent": {"prompt": TASK, "description": "look", "subagent_type": "general-purpose"},
    "multi_agent_v1__spawn_agent": {"message": TASK},
}


def play(turn):
    offered = {tool.name for tool in turn.request.tools}
    if "Managed memory" in turn.prompt:
        return "Nothing."
    if turn.prompt == TASK:
        return "Report: 8431" if turn.done else turn.call("execute", command="echo looked > looked.txt")
    if "elegate" in turn.prompt and turn.done == 0:
        name = next(name for name in STARTS if name in offered)
        return turn.call_tool(name, STARTS[name])
    if turn.done == 1 and "multi_agent_v1__wait_agent" in offered:
        target = json.loads(turn.result)["agent_id"]
        return turn.call_tool("multi_agent_v1__wait_agent", {"targets": [target], "timeout_ms": 60000})
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


@pytest.mark.parametrize("agent", ["codex", "claude-code", "qwen-code"])
def test_the_agent_itself_is_told_from_its_sub_agents(project: Project, agent: str):
    """Codex calls tools in a namespace, Claude Code works in the background, Qwen Code asks for its memory."""
    installed(agent)
    project.write(demeanor_toml='[models.m]\nscript = "model.py"\n', model_py=MODEL, eval_sub_agents_py=EVALS)
    words = ("run", "eval_sub_agents.py", "--policy", "all", "--trials", "1", "--subject", f"{agent}:m")
    ran = project.demeanor(*words, DEMEANOR_AGENTS=str(AGENTS_FOLDER), PATH=os.environ["PATH"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
