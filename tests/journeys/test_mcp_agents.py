"""Real agents with an MCP fixture, driven by a scripted model."""

from __future__ import annotations

import os

import pytest

from tests.helpers.installed_agents import AGENTS_FOLDER, installed, selected_agents
from tests.helpers.project import Project

pytestmark = pytest.mark.agents
WITHOUT_MCP = ("aider", "mini-swe-agent", "pi", "vibe")

MODEL = """
def play(turn):
    if len(turn.results_of("lookup")) < 2:
        risk = {"security_risk": "LOW"} if "security_risk" in str(turn.request.tools) else {}  # OpenHands requires it
        return turn.call_named("lookup", {"word": "heron", **risk})
    return "The answer is " + turn.result
"""
EVALS = """
from demeanor import ALWAYS_PASSES, Fixture, FixtureTool, eval_test

lookup = FixtureTool(description="Looks up a word.", schema={"word": "string"}, replies="{word}-8431")
words = Fixture({"lookup": lookup}, transport="TRANSPORT")


@eval_test(ALWAYS_PASSES, prompt="Look up heron.", mcp={"words": words}, faults=["tool:words.lookup:500@1"])
def looks_it_up(rig, result):
    calls = rig.calls.named("words.lookup").where(word="heron")
    assert calls.count() == 2
    others = [call.tool for call in rig.calls if not call.mcp]
    assert set(others) <= {"ToolSearch", "tool_search"}, "some agents offer tools only after a search"
    assert {call.witness for call in calls} <= {"wire", "both"}
    assert calls.failed("HTTP 500").count() == 1
    assert "heron-8431" in result
"""


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("agent", selected_agents(("gemini-cli", "claude-code", "qwen-code")))
def test_a_fixture_is_used_recorded_and_broken(project: Project, agent: str, transport: str):
    """Without any setting of the agent: its first call fails, its second is answered. Others are skipped."""
    installed(agent)
    evals = EVALS.replace("TRANSPORT", transport)
    project.write(demeanor_toml='[models.m]\nscript = "model.py"\n', model_py=MODEL, eval_mcp_py=evals)
    words = ("run", "eval_mcp.py", "--policy", "all", "--trials", "1", "--subject", f"{agent}:m")
    ran = project.demeanor(*words, DEMEANOR_AGENTS=str(AGENTS_FOLDER), PATH=os.environ["PATH"])
    if agent in WITHOUT_MCP:
        assert "can't do this (mcp)" in ran.stdout, ran.stdout + ran.stderr
    else:
        assert ran.returncode == 0, ran.stdout + ran.stderr
