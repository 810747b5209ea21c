"""What the user says while the agent works, and conversations that are resumed in the middle of the work."""

from __future__ import annotations

import pytest

from tests.helpers.project import Project

CONFIG = """\
subjects = ["native:worker"]
trials = 1
[models.worker]
script = "worker.py"
"""
MODEL = """\
def play(turn):
    users = [one for one in turn.request.messages if one.role == "user"]
    said = [part.text for one in users for part in one.parts if type(part).__name__ == "Text"]
    if "Stop." in said[-1:]:
        return "Stopped."
    parts = [part for one in turn.request.messages for part in one.parts]
    done = sum(type(part).__name__ == "ToolResult" for part in parts)
    if done == 4:
        return "Done."
    style = "tabs" if "Use tabs." in said else "blanks"
    return turn.call("edit", path=f"{done}.txt", content=style), turn.call("read", path="0.txt")
"""
EVALS = """\
from demeanor import USUALLY_PASSES, Steer, eval_test

def good(stage):
    for number in range(3):
        (stage.workspace / f"{number}.txt").write_text("tabs" if number else "blanks")
        stage.call("write_file", path=f"{number}.txt")
        if number == 0:
            assert stage.steered() == "Use tabs."
        assert stage.steered() is None

def bad(stage):
    for number in range(3):
        (stage.workspace / f"{number}.txt").write_text("blanks")
        stage.call("write_file", path=f"{number}.txt")

@eval_test(USUALLY_PASSES, prompt="Write.", steer=[Steer(after="edit", nth=1, say="Use tabs.")])
def takes_the_hint(rig, result):
    assert rig.workspace["0.txt"].text == "blanks"
    assert rig.workspace["2.txt"].text == "tabs"
    (hint,) = rig.steered
    assert (hint.text, hint.turn, hint.after, hint.delivery) == ("Use tabs.", 1, "edit", "hint")
    assert rig.turns == 3

@eval_test(USUALLY_PASSES, prompt="Write.", steer=[Steer(after="edit", say="Use tabs.")], passes_on=good,
           fails_on=bad)
def proved(rig, result):
    assert rig.workspace["2.txt"].text == "tabs"

@eval_test(USUALLY_PASSES, prompt="Write.", steer=[("write_file", "Use tabs.")])
def as_a_pair(rig, result):
    assert rig.workspace["2.txt"].text == "tabs"

@eval_test(USUALLY_PASSES, prompt="Write.", steer=[Steer(after="turn", say="Use tabs.")])
def after_a_turn(rig, result):
    assert rig.workspace["2.txt"].text == "tabs"

@eval_test(USUALLY_PASSES, prompt="Write.", steer=[Steer(after="edit", interrupt=True, say="Stop.")])
def is_interrupted(rig, result):
    assert rig.workspace.changed_paths == ["0.txt"]
    assert result == "Stopped."
    assert [(one.text, one.delivery) for one in rig.steered] == [("Stop.", "interrupt")]
    assert rig.calls.count() == 2 and rig.calls.of_kind("read").returned("the user interrupted")

@eval_test(USUALLY_PASSES, prompt="Write.", steer=[Steer(after="edit", interrupt=True)])
def is_only_stopped(rig, result):
    assert rig.workspace.changed_paths == ["0.txt"]
    assert rig.turns == 1

@eval_test(USUALLY_PASSES, prompt="Write.", steer=[Steer(after="turn", nth=3, say="Stop.")])
def too_late_for_a_hint(rig, result):
    assert [one.delivery for one in rig.steered] == ["prompt"]
    assert result == "Stopped."

@eval_test(USUALLY_PASSES, prompt="Write.", steer=[Steer(after="delete", say="Use tabs.")])
def never_due(rig, result):
    assert rig.steered == ()
    assert rig.workspace["2.txt"].text == "blanks"
"""
SCENARIO = """\
policy = "USUALLY_PASSES"
prompt = "Write."

[[steer]]
after = "edit"
say = "Use tabs."

[[checks]]
check = "file_contains"
path = "2.txt"
text = "tabs"
"""


@pytest.fixture
def steered(project: Project) -> Project:
    """A project whose evals steer the agent."""
    project.write(
        demeanor_toml=CONFIG,
        worker_py=MODEL,
        evals__eval_steer_py=EVALS,
        evals__folder__scenario_toml=SCENARIO,
    )
    return project


def test_the_user_speaks_while_the_agent_works(steered: Project):
    """Hints reach the model with the next request; an interruption ends the turn."""
    ran = steered.demeanor("run", "--policy", "all")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "9 of 9 evals held" in ran.stdout
    trace = steered.demeanor("trace", "takes_the_hint").stdout
    assert "the user gave a hint (after edit)\n      Use tabs." in trace
    assert trace.index("the user gave a hint") < trace.index("turn 2")
    assert "the user interrupted (after edit)" in steered.demeanor("trace", "is_only_stopped").stdout
    proved = steered.demeanor("validate")
    assert proved.returncode == 0, proved.stdout + proved.stderr


def test_a_steered_trial_is_replayed(steered: Project):
    """From its cassette, without the model; another hint is another scenario."""
    words = ("run", "evals/eval_steer.py::takes_the_hint", "evals/eval_steer.py::is_interrupted", "--policy", "all")
    assert steered.demeanor(*words, "--record", "tapes").returncode == 0
    (steered.folder / "worker.py").write_text("def play(turn):\n    raise RuntimeError('asked')\n")
    replayed = steered.demeanor(*words, "--replay", "tapes")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    evals = steered.folder / "evals/eval_steer.py"
    evals.write_text(evals.read_text().replace('nth=1, say="Use tabs."', 'nth=1, say="Use spaces."'))
    missed = steered.demeanor(*words, "--replay", "tapes")
    assert missed.returncode == 3, missed.stdout + missed.stderr
    assert "void(cassette)" in missed.stdout


def test_agents_that_take_no_messages_are_skipped(steered: Project):
    """With the reason; so are those whose sessions can't have tool calls."""
    config = '[agents.once]\nadapter = "command"\ncommand = ["true", "{prompt}"]\n'
    (steered.folder / "demeanor.toml").write_text(CONFIG + config)
    ran = steered.demeanor("run", "evals/eval_steer.py::takes_the_hint", "--subject", "once", "--policy", "all")
    assert "once can't do this (steer): it takes no message while it works" in ran.stdout, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('[Steer(after="edit")]', "there is nothing to say"),
        ('[{"after": "edit", "tell": "x"}]', "steer[0].tell"),
        ('"Use tabs."', "expected a list of messages"),
        ("[3]", "expected a message of the user"),
        ('[Steer(say="x", nth=0)]', "nth=0"),
        ('[Steer(say="x", after=" ")]', "`after` is empty"),
    ],
)
def test_a_message_that_can_never_be_said_is_refused(project: Project, written: str, problem: str):
    """Before anything runs, with the file."""
    evals = (
        f"from demeanor import *\n\n@eval_test(USUALLY_PASSES, prompt='Go.', steer={written})\ndef one(rig, result):\n"
    )
    project.write(demeanor_toml=CONFIG, worker_py=MODEL, eval_a_py=evals + "    assert rig\n")
    ran = project.demeanor("validate", "--list", "eval_a.py")
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert problem in ran.stdout + ran.stderr
    assert "eval_a.py" in ran.stdout + ran.stderr


RESUMED = """\
from demeanor import USUALLY_PASSES, eval_test

EARLIER = [
    {"role": "user", "text": "What is in the log?"},
    {"role": "assistant", "calls": [
        {"tool": "read_file", "arguments": {"path": "a.log"}, "result": "error: missing", "failed": True},
        {"tool": "read_file", "arguments": {"path": "b.log"}, "result": "the code is {code}"}]},
    {"role": "assistant", "text": "I have read it."},
]

@eval_test(USUALLY_PASSES, prompt="Say the code.", messages=EARLIER, cases=[{"id": "one", "code": "4711"}])
def remembers(rig, result):
    assert result == "4711"
    assert rig.calls.count() == 0
"""
RESUMED_MODEL = """\
def play(turn):
    kinds = [(one.role, type(part).__name__) for one in turn.request.messages for part in one.parts]
    assert kinds[1:] == [("user", "Text"), ("assistant", "ToolCall"), ("assistant", "ToolCall"), ("user", "ToolResult"),
        ("user", "ToolResult"), ("assistant", "Text"), ("user", "Text")], kinds
    results = [part for one in turn.request.messages for part in one.parts if type(part).__name__ == "ToolResult"]
    return results[-1].text.removeprefix("the code is ")
"""


def test_an_earlier_conversation_may_have_tool_calls(project: Project):
    """The model gets them with their results; they are not calls of the trial."""
    project.write(demeanor_toml=CONFIG, worker_py=RESUMED_MODEL, eval_a_py=RESUMED)
    ran = project.demeanor("run", "eval_a.py", "--policy", "all")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    config = '[agents.once]\nadapter = "python"\nfunction = "agent.py:agent"\n'
    code = (
        "def agent(session):\n    session.say(session.messages[1]['calls'][1]['result'].removeprefix('the code is '))\n"
    )
    project.write(demeanor_toml=CONFIG + config, agent_py=code)
    ran = project.demeanor("run", "eval_a.py", "--policy", "all", "--subject", "once")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_agents_whose_sessions_have_no_tool_calls_are_skipped(project: Project):
    """With the reason."""
    project.write(demeanor_toml='subjects = ["aider:scripted"]\n', eval_a_py=RESUMED)
    ran = project.demeanor("run", "eval_a.py", "--policy", "all", "--dry-run")
    assert "aider can't do this (messages): its session format can't be given tool calls" in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ('{"role": "user", "text": "x", "calls": [{"tool": "ls"}]}', "only a message of the assistant can have calls"),
        ('{"role": "assistant"}', "neither text nor calls"),
        ('{"role": "assistant", "calls": [{"arguments": {}}]}', "messages[0].calls[0].tool"),
    ],
)
def test_a_message_that_was_never_sent_is_refused(project: Project, message: str, problem: str):
    """Before anything runs."""
    evals = f"from demeanor import *\n\n@eval_test(USUALLY_PASSES, prompt='Go.', messages=[{message}])\n"
    project.write(demeanor_toml=CONFIG, worker_py=MODEL, eval_a_py=evals + "def one(rig, result):\n    assert rig\n")
    ran = project.demeanor("validate", "--list", "eval_a.py")
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert problem in ran.stdout + ran.stderr
