"""Agents that speak the Agent Client Protocol, through the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.helpers.installed_agents import installed, selected_agents
from tests.helpers.project import Project

AGENT = Path(__file__).parents[1] / "agents/acp_client/agent.py"
SMALL = f"""\
subjects = ["small"]
attempts = 1
timeout = 300
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
def exits_early(rig, result): return True
"""
WIRE_AGENT = '''\
"""Makes one call of its model, and asks for permission without saying which tool it is about to use."""
import json, os, sys, urllib.request
from pathlib import Path

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def tool(name, *properties):
    schema = {"type": "object", "properties": {one: {"type": "string"} for one in properties}}
    return {"type": "function", "function": {"name": name, "parameters": schema}}

def requested(prompt):
    tools = [tool("write_file", "path", "content"), tool("run_shell_command", "command")]
    body = {"model": "m", "messages": [{"role": "user", "content": prompt}], "tools": tools}
    headers = {"Authorization": "Bearer " + os.environ["KEY"], "Content-Type": "application/json"}
    request = urllib.request.Request(os.environ["BASE"] + "/v1/chat/completions", json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(request))["choices"][0]["message"]["tool_calls"]

def prompted(text):
    for one in requested(text):
        arguments = json.loads(one["function"]["arguments"])
        own = one["id"] if sys.argv[1] == "id" else "mine" + one["id"][-6:]
        call = {"toolCallId": own, "title": "Next step", "kind": "other"}
        if sys.argv[1] == "arguments":
            call["rawInput"] = arguments
        send(method="session/update", params={"sessionId": "s", "update": {"sessionUpdate": "tool_call", **call}})
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
        params = {"sessionId": "s", "toolCall": call, "options": options}
        send(id="p", method="session/request_permission", params=params)
        if json.loads(sys.stdin.readline())["result"]["outcome"]["optionId"] == "allow_once":
            Path(arguments.get("path", "ran.txt")).write_text("x")
        done = {"sessionUpdate": "tool_call_update", "toolCallId": call["toolCallId"], "status": "completed"}
        send(method="session/update", params={"sessionId": "s", "update": done})

RESULTS = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}}
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "session/prompt":
        prompted(message["params"]["prompt"][0]["text"])
    send(id=message["id"], result=RESULTS.get(message["method"], {"stopReason": "end_turn"}))
'''
WIRE_CONFIG = f"""\
attempts = 1
[models.m]
script = "model.py"
[agents.silent]
adapter = "acp"
command = [{json.dumps(sys.executable)}, "{{project}}/agent.py", "TELLS"]
reads = ["agent.py"]
dialect = "openai-chat"
env = {{ BASE = "{{base_url}}", KEY = "{{token}}" }}
"""
WIRE_MODEL = """\
def play(turn):
    return turn.call("edit", path="a.txt", content="x"), turn.call("execute", command="ls")
"""
WIRE_EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Go.", approval={"edit": "deny"})
def must_not_edit(rig, result):
    assert rig.workspace.changed_paths == ["ran.txt"]
    assert [(one.tool, one.kind, one.answer) for one in rig.permissions] == [
        ("write_file", "edit", "deny"), ("run_shell_command", "execute", "allow")]
    assert not [note for note in rig.notes if "`other`" in note]
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
VIBE_CONFIG = """\
subjects = ["vibe-acp:m"]
attempts = 1
timeout = 300
[models.m]
script = "model.py"
[agents.vibe-acp]
adapter = "acp"
command = ["{program}"]
reads = ["{folder}"]
dialect = "openai-chat"
env = {{ VIBE_HOME = "{{home}}/.vibe", DEMEANOR_TOKEN = "{{token}}", MISTRAL_API_KEY = "{{token}}" }}
[agents.vibe-acp.home_files]
".vibe/config.toml" = '''
active_model = "demeanor"
enable_telemetry = false
enable_update_checks = false
enable_auto_update = false
enable_connectors = false
[session_logging]
generate_titles = false
[[providers]]
name = "demeanor"
api_base = "{{base_url}}/v1"
api_key_env_var = "DEMEANOR_TOKEN"
api_style = "openai"
backend = "generic"
[[models]]
name = "{{model}}"
provider = "demeanor"
alias = "demeanor"
'''
"""
VIBE_MODEL = """\
def play(turn):
    steps = [("edit", {"path": "a.txt", "content": "x"}), ("execute", {"command": "mkdir made"})]
    return turn.call(steps[turn.done][0], **steps[turn.done][1]) if turn.done < len(steps) else "Done."
"""
VIBE_EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Go.", approval={"execute": "deny"})
def must_not_execute(rig, result):
    assert [(one.tool, one.kind, one.answer) for one in rig.permissions] == [("bash", "execute", "deny")]
    assert rig.workspace.changed_paths == ["a.txt"]
    assert rig.calls.count() == 2 and rig.calls.denied().count() == 1
    assert not rig.trajectory.disagreements
    assert not [note for note in rig.notes if "`other`" in note]
"""

QUESTIONS = """\
import json
from demeanor import ALWAYS_PASSES, ScriptedUser, SimulatedUser, UserReply, eval_test

FORM = {"colour": {"type": "string", "title": "Colour", "enum": ["red", "blue"]}, "many": {"type": "integer"},
        "sure": {"type": "boolean"}, "sizes": {"type": "array", "items": {"anyOf": [
            {"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]}}}
ASK = json.dumps([["elicit", "Which paint?", FORM, ["colour"]], ["choose", "Which brush?", "Thin", "Thick"]])

@eval_test(ALWAYS_PASSES, prompt=ASK, user=ScriptedUser(answers=[
    UserReply("Blue", when="colour"), UserReply("3", when="many"), UserReply("yes", when="sure"),
    UserReply("small, large", when="sizes"), UserReply("thick", when="which brush")]))
def asks_by_a_form_and_by_options(rig, result):
    form, chosen = map(json.loads, rig.said)
    assert form == {"action": "accept", "content": {"colour": "blue", "many": 3, "sure": True, "sizes": ["s", "l"]}}
    assert chosen == {"outcome": {"outcome": "selected", "optionId": "o-Thick"}}
    assert [one.text for one in rig.user.questions] == [
        "Which paint?\\nColour", "Which paint?\\nmany", "Which paint?\\nsure", "Which paint?\\nsizes", "Which brush?"]
    assert rig.user.questions[0].options == ("red", "blue")

@eval_test(ALWAYS_PASSES, prompt=ASK, user=ScriptedUser(answers=[UserReply("Green", when="colour"), UserReply("x")]))
def gets_an_answer_that_the_form_does_not_offer(rig, result):
    assert json.loads(rig.said[0]) == {"action": "decline"}

@eval_test(ALWAYS_PASSES, prompt=ASK)
def has_no_user(rig, result):
    form, chosen = map(json.loads, rig.said)
    assert form["code"] == -32601
    assert chosen["outcome"]["optionId"] == "o-Thick"
"""
STEERED = """\
import json
from demeanor import ALWAYS_PASSES, Steer, eval_test

WORK = [["call", "write_file", "edit", {"path": "a"}, "ok"], ["cancelled"], ["stop", "cancelled"]]

@eval_test(ALWAYS_PASSES, prompt=json.dumps(WORK),
           steer=[Steer(after="edit", say=json.dumps([["say", "as you like"]]))])
def is_interrupted_since_it_takes_no_hints(rig, result):
    assert result == "as you like"
    assert [one.delivery for one in rig.steered] == ["interrupt"]

@eval_test(ALWAYS_PASSES, prompt=json.dumps(WORK), steer=[Steer(after="edit", interrupt=True)])
def is_only_interrupted(rig, result):
    assert [one.delivery for one in rig.steered] == ["interrupt"]

@eval_test(ALWAYS_PASSES, prompt=json.dumps(WORK[:2] + [["error", "aborted"]]),
           steer=[Steer(after="call", interrupt=True, say=json.dumps([["say", "well"]]))])
def answers_the_cancellation_with_an_error(rig, result):
    assert result == "well"

@eval_test(ALWAYS_PASSES, prompt=json.dumps([["say", "one"]]), steer=[Steer(after="turn", say="[]")])
def has_ended_before(rig, result):
    assert [one.delivery for one in rig.steered] == ["prompt"]
"""


def test_an_agents_questions_are_answered_by_rule(project: Project):
    """Forms field by field, and requests for permission that offer several answers."""
    project.write(demeanor_toml=SMALL, evals__eval_questions_py=QUESTIONS)
    ran = project.demeanor("run", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_an_agent_without_hints_is_interrupted(project: Project):
    """By the cancellation of its turn; the message is the next prompt."""
    project.write(demeanor_toml=SMALL, evals__eval_steer_py=STEERED)
    ran = project.demeanor("run", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr


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


@pytest.mark.parametrize("tells", ["id", "arguments"])
def test_a_denial_by_kind_is_decided_from_the_models_answer(project: Project, tells: str):
    """The agent never says what the tool does. The call in the model's answer has the same id or arguments."""
    config = WIRE_CONFIG.replace("TELLS", tells)
    project.write(demeanor_toml=config, agent_py=WIRE_AGENT, model_py=WIRE_MODEL, evals__eval_a_py=WIRE_EVAL)
    ran = project.demeanor("run", "--subject", "silent:m", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_tool_that_neither_the_agent_nor_the_model_tells_is_other(project: Project):
    """The rule for `other` answers, and a note says so."""
    evals = WIRE_EVAL.replace('"edit": "deny"', '"edit": "allow", "other": "deny"').partition("    assert")[0]
    evals += "    assert not rig.workspace.changed_paths\n"
    evals += "    assert [note for note in rig.notes if 'the rule for `other` answered' in note]\n"
    config = WIRE_CONFIG.replace("TELLS", "nothing")
    project.write(demeanor_toml=config, agent_py=WIRE_AGENT, model_py=WIRE_MODEL, evals__eval_a_py=evals)
    ran = project.demeanor("run", "--subject", "silent:m", "--trials", "1")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_an_agent_that_does_not_exit_is_killed(project: Project):
    """At the deadline; its earlier output is known."""
    evals = "from demeanor import ALWAYS_PASSES, eval_test\n\n@eval_test(ALWAYS_PASSES, timeout=8, "
    evals += 'prompt=\'[["call", "ls", "search", {}, "a"], ["sleep", 600]]\')\ndef sleeps(rig, result): return True\n'
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
@pytest.mark.skipif("vibe" not in selected_agents(()), reason="vibe is slow to install; set DEMEANOR_TEST_AGENTS=vibe")
def test_vibe_over_acp_is_denied_by_kind(project: Project):
    """It asks before it says what its tool does. A call that is on the wire and in its log is one call."""
    program = installed("vibe").with_name("vibe-acp")
    config = VIBE_CONFIG.format(program=program, folder=program.parents[1])
    project.write(demeanor_toml=config, model_py=VIBE_MODEL, evals__eval_a_py=VIBE_EVALS)
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
