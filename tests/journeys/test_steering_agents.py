"""Real agents that a user steers, and real agents that resume a conversation with tool calls; scripted models."""

from __future__ import annotations

import os

import pytest

from tests.helpers.installed_agents import AGENTS_FOLDER, installed, selected_agents
from tests.helpers.project import Project

pytestmark = pytest.mark.agents

MODEL = """
import time

def play(turn):
    texts = [part for one in turn.request.messages for part in one.parts]
    done = sum(type(part).__name__ == "ToolResult" for part in texts)
    if any("Stop at once" in str(part) for part in texts):
        return "Stopped."
    if done >= 30:
        return "Done."
    return turn.call("edit", path=f"{done}.txt", content="x")
"""
EVALS = """
from demeanor import ALWAYS_PASSES, Steer, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write many files.", steer=[Steer(after="edit", say="Stop at once")])
def takes_a_hint(rig, result):
    assert result == "Stopped."
    assert rig.workspace["0.txt"].exists
    assert rig.calls.of_kind("edit").count() < 30
    (hint,) = rig.steered
    assert (hint.text, hint.delivery) == ("Stop at once", DELIVERY)

@eval_test(ALWAYS_PASSES, prompt="Write many files.", steer=[Steer(after="edit", interrupt=True, say="Stop at once")])
def is_interrupted(rig, result):
    assert result == "Stopped."
    assert rig.workspace["0.txt"].exists
    assert rig.calls.of_kind("edit").count() < 30
    assert [(one.text, one.delivery) for one in rig.steered] == [("Stop at once", "interrupt")]

@eval_test(ALWAYS_PASSES, prompt="Write many files.", steer=[Steer(after="edit", interrupt=True)])
def is_stopped(rig, result):
    assert rig.workspace["0.txt"].exists
    assert rig.calls.of_kind("edit").count() < 30
"""
CONFIG = """\
trials = 1
attempts = 1
timeout = 300
[models.m]
script = "model.py"
"""
GOOSE = """\
[agents.goose-acp]
adapter = "acp"
command = ["{program}", "acp", "--with-builtin", "developer"]
dialect = "anthropic"
base_url_env = ["ANTHROPIC_HOST"]
token_env = ["ANTHROPIC_API_KEY"]
[agents.goose-acp.env]
GOOSE_PROVIDER = "anthropic"
GOOSE_MODEL = "{{model}}"
GOOSE_MODE = "auto"
GOOSE_DISABLE_KEYRING = "1"
GOOSE_TELEMETRY_OFF = "1"
GOOSE_DISABLE_SESSION_NAMING = "true"
"""
GEMINI = """\
[agents.gemini-acp]
adapter = "acp"
command = ["{program}", "--acp", "--skip-trust", "--approval-mode", "yolo", "-m", "gemini-2.5-flash"]
dialect = "gemini"
base_url_env = ["GOOGLE_GEMINI_BASE_URL"]
token_env = ["GEMINI_API_KEY"]
authenticate = "gemini-api-key"
reads = ["{folder}"]
[agents.gemini-acp.env]
GEMINI_TELEMETRY_ENABLED = "false"
[agents.gemini-acp.home_files]
".gemini/settings.json" = '''{{{{"security": {{{{"auth": {{{{"selectedType": "gemini-api-key"}}}}}}}},
"privacy": {{{{"usageStatisticsEnabled": false}}}}, "general": {{{{"enableAutoUpdate": false}}}}}}}}'''
"""


def _run(project: Project, *words: str) -> str:
    ran = project.demeanor(
        "run", "evals", "--policy", "all", *words, DEMEANOR_AGENTS=str(AGENTS_FOLDER), PATH=os.environ["PATH"]
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize("agent", selected_agents(("claude-code",)))
def test_an_agent_with_streamed_input_is_steered(project: Project, agent: str):
    """A hint, an interruption with a message, and one without."""
    installed(agent)
    evals = EVALS.replace("DELIVERY", '"hint"')
    project.write(demeanor_toml=CONFIG, model_py=MODEL, evals__eval_steer_py=evals)
    _run(project, "--subject", f"{agent}:m")


@pytest.mark.parametrize(
    ("agent", "config", "delivery"), [("goose", GOOSE, "hint"), ("gemini-cli", GEMINI, "interrupt")]
)
def test_an_agent_is_steered_over_acp(project: Project, agent: str, config: str, delivery: str):
    """goose takes hints by a method of its own; Gemini CLI is interrupted instead."""
    program = installed(agent)
    config = config.format(program=program, folder=AGENTS_FOLDER / agent)
    project.write(
        demeanor_toml=CONFIG + config, model_py=MODEL, evals__eval_steer_py=EVALS.replace("DELIVERY", f'"{delivery}"')
    )
    name = config.partition("agents.")[2].partition("]")[0]
    _run(project, "--subject", f"{name}:m")


RESUMED = """\
from demeanor import ALWAYS_PASSES, eval_test

EARLIER = [
    {"role": "user", "text": "What is in the log?"},
    {"role": "assistant", "text": "I will look.", "calls": [
        {"tool": "TOOL", "arguments": {"path": "b.log"}, "result": "the code is 4711"}]},
    {"role": "assistant", "text": "I have read it."},
]

@eval_test(ALWAYS_PASSES, prompt="Say the code.", messages=EARLIER)
def remembers(rig, result):
    assert result == "4711"
    assert rig.calls.count() == 0
"""
RESUMED_MODEL = """\
def play(turn):
    parts = [part for one in turn.request.messages for part in one.parts]
    calls = [part for part in parts if type(part).__name__ == "ToolCall"]
    results = [part for part in parts if type(part).__name__ == "ToolResult"]
    if [call.name for call in calls] != ["TOOL"] or len(results) != 1:
        return f"calls: {calls}, results: {results}"
    return "4711" if "4711" in results[0].text else results[0].text
"""
TOOLS = {
    "claude-code": "Read",
    "codex": "shell",
    "gemini-cli": "read_file",
    "goose": "shell",
    "qwen-code": "read_file",
}


@pytest.mark.parametrize("agent", selected_agents(tuple(TOOLS)))
def test_an_agent_resumes_a_conversation_with_tool_calls(project: Project, agent: str):
    """Its model gets the calls with their results."""
    if agent not in TOOLS:
        pytest.skip("its sessions can't be given tool calls")
    installed(agent)
    tool = TOOLS[agent]
    project.write(
        demeanor_toml=CONFIG,
        model_py=RESUMED_MODEL.replace("TOOL", tool),
        evals__eval_resumed_py=RESUMED.replace("TOOL", tool),
    )
    _run(project, "--subject", f"{agent}:m")
