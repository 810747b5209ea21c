"""Real agents with a user, driven by a scripted model: one conversation over several turns."""

from __future__ import annotations

import os

import pytest

from tests.helpers.installed_agents import AGENTS_FOLDER, installed, selected_agents
from tests.helpers.project import Project

pytestmark = pytest.mark.agents

MODEL = """
def play(turn):
    if "Write my colour" in turn.prompt:
        return "Which colour?"
    if turn.done == 0:
        assert any("Which colour?" in str(message) for message in turn.request.messages), "it has forgotten"
        return turn.call("edit", path="colour.txt", content=turn.prompt.strip())
    return "Done."
"""
EVALS = """
from demeanor import ALWAYS_PASSES, UserReply, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write my colour.", user=[UserReply("blue", when="which colour")])
def asks_for_the_colour(rig, result):
    assert rig.workspace["colour.txt"].text.strip() == "blue"
    assert rig.user.replies == ("blue",)
    assert rig.said[0] == "Which colour?"
    assert result == "Done."
"""


@pytest.mark.parametrize("agent", selected_agents(("claude-code", "gemini-cli", "goose")))
def test_a_real_agent_continues_with_the_users_reply(project: Project, agent: str):
    installed(agent)
    project.write(demeanor_toml='[models.m]\nscript = "model.py"\n', model_py=MODEL, eval_user_py=EVALS)
    words = ("run", "eval_user.py", "--policy", "all", "--trials", "1", "--subject", f"{agent}:m")
    ran = project.demeanor(*words, DEMEANOR_AGENTS=str(AGENTS_FOLDER), PATH=os.environ["PATH"])
    assert ran.returncode == 0, ran.stdout + ran.stderr
