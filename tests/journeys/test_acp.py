"""Agents that speak the Agent Client Protocol, through the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.helpers.installed_agents import installed
from tests.helpers.project import Project

AGENT = Path(__file__).parents[1] / "acp/agent.py"
SMALL = f"""\
subjects = ["small"]
attempts = 1
timeout = 20
[agents.small]
adapter = "acp"
command = [{json.dumps(sys.executable)}, {json.dumps(str(AGENT))}]
"""
SMALL_EVALS = """\
import json
from demeanor import ALWAYS_PASSES, USUALLY_FAILS, eval_test

def steps(*given): return json.dumps(given)

ASKS = steps(["write", "a.txt", "x"], ["say", "done"])

@eval_test(ALWAYS_PASSES, prompt=ASKS)
def asks_first(rig, result):
    assert rig.workspace["a.txt"].text == "x"
    assert rig.calls.of_kind("edit") and not rig.calls.of_kind("edit").unasked()
    assert [one.answer for one in rig.permissions] == ["allow"]
    assert result == "done"

@eval_test(ALWAYS_PASSES, prompts=[ASKS, ASKS], approval={"edit": ["deny", "allow"]})
def is_denied_once(rig, result):
    assert rig.calls.denied().count() == 1
    assert rig.calls.asked().count() == 2
    assert rig.workspace["a.txt"].text == "x"

@eval_test(ALWAYS_PASSES, prompt=steps(["call", "rm", "delete", {"path": "a"}, "gone"]))
def does_not_ask(rig, result):
    assert rig.calls.of_kind("delete").unasked().count() == 1
    assert not rig.permissions

@eval_test(ALWAYS_PASSES, prompt=steps(["say", "hi"], ["exit", 3]))
def exits_early(rig, result):
    pass
"""
GOOSE_CONFIG = """\
subjects = ["goose-acp:scripted"]
attempts = 1
[agents.goose-acp]
adapter = "acp"
command = ["{goose}", "acp", "--with-builtin", "developer"]
mode = "approve"
files = {files}
dialect = "anthropic"
base_url_env = ["ANTHROPIC_HOST"]
token_env = ["ANTHROPIC_API_KEY"]
[agents.goose-acp.env]
GOOSE_PROVIDER = "anthropic"
GOOSE_MODEL = "{{model}}"
GOOSE_DISABLE_KEYRING = "1"
GOOSE_TELEMETRY_OFF = "1"
GOOSE_DISABLE_SESSION_NAMING = "true"
GOOSE_PROVIDER_SKIP_BACKOFF = "true"
"""
GOOSE_EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

SAVE = "Save the note 'buy milk' in notes.txt."

@eval_test(ALWAYS_PASSES, prompt=SAVE)
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text
    (call,) = rig.calls.of_kind("edit")
    assert (call.permission, call.witness, call.succeeded) == ("allow", "both", True)
    assert not rig.trajectory.disagreements

@eval_test(ALWAYS_PASSES, prompt=SAVE, approval={"edit": "deny"})
def is_denied(rig, result):
    assert not rig.workspace.exists("notes.txt")
    assert rig.calls.of_kind("edit").denied().count() == 1

@eval_test(ALWAYS_PASSES, prompts=[SAVE, "Run the command `cat notes.txt`."])
def two_prompts(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text
    assert rig.calls.after(rig.calls.of_kind("edit")).of_kind("execute", "read")
    assert rig.turns == 4
"""


def test_permission_requests_of_a_small_agent(project: Project):
    """The eval answers them, the trace shows them, and checks know which calls asked; an early exit is a fail."""
    project.write(demeanor_toml=SMALL, evals__eval_small_py=SMALL_EVALS)
    ran = project.demeanor("run", "--trials", "1")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "3 of 4 evals held" in ran.stdout
    assert "the agent exited (exit code 3) before it answered session/prompt" in ran.stdout
    trace = project.demeanor("trace", "is_denied_once").stdout
    assert trace.index("asked for permission: write_file [edit] → deny") < trace.index("write_file [edit] → failed")
    assert "asked for permission: write_file [edit] → allow" in trace
    assert project.temporary() == []


def test_an_agent_that_does_not_exit_is_killed(project: Project):
    """At the deadline; its earlier output is known."""
    evals = "from demeanor import ALWAYS_PASSES, eval_test\n\n@eval_test(ALWAYS_PASSES, timeout=2, "
    evals += 'prompt=\'[["call", "ls", "search", {}, "a"], ["sleep", 600]]\')\ndef sleeps(rig, result):\n    pass\n'
    project.write(demeanor_toml=SMALL, evals__eval_small_py=evals)
    ran = project.demeanor("run", "--trials", "1")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "reached its time limit" in ran.stdout
    assert "ls" in project.demeanor("trace", "sleeps").stdout


@pytest.mark.agents
@pytest.mark.parametrize("files", ["false", "true"])
def test_goose_over_acp(project: Project, files: str):
    """It creates a file, is denied, and continues in the same session; with `files` and without."""
    program = installed("goose")
    project.write(demeanor_toml=GOOSE_CONFIG.format(goose=program, files=files), evals__eval_note_py=GOOSE_EVALS)
    ran = project.demeanor("run", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.agents
def test_failed_model_calls_void_the_trial_despite_end_turn(project: Project):
    """Every model call fails, and goose reports `end_turn`."""
    program = installed("goose")
    project.write(demeanor_toml=GOOSE_CONFIG.format(goose=program, files="false"), evals__eval_note_py=GOOSE_EVALS)
    ran = project.demeanor("run", "evals/eval_note.py::saves_the_note", "--trials", "1", "--fault", "500")
    assert ran.returncode == 3, ran.stdout + ran.stderr
    assert "VOID" in ran.stdout.upper()
