"""Users: they reply after the agent's turns and answer its questions, by rules, by a function, or played by a model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.project import Project

EVALS = """\
from demeanor import USUALLY_PASSES, ScriptedUser, SimulatedUser, UserReply, eval_test

def good(stage):
    stage.say("Which colour?")
    answer = stage.reply()
    (stage.workspace / "colour.txt").write_text(answer)
    stage.say("Done.")
    assert stage.reply() is None

def bad(stage):
    (stage.workspace / "colour.txt").write_text("red")
    stage.say("Done.")

user = [UserReply("blue", when="which COLOUR*?"), UserReply("green", when="which colour", times=1)]

@eval_test(USUALLY_PASSES, prompt="Write my colour.", user=user, passes_on=good, fails_on=bad)
def by_rule(rig, result):
    assert rig.workspace["colour.txt"].text == "blue"
    assert rig.user.said == ("Write my colour.", "blue")
    assert rig.user.ended == "the user has nothing more to say"

def reply(rig):
    if "colour.txt" in rig.workspace:
        return None
    return "blue" if "Which colour" in rig.final_text and not rig.calls else "?"

@eval_test(USUALLY_PASSES, prompt="Write my colour.", user=reply, passes_on=good, fails_on=bad)
def by_function(rig, result):
    assert rig.workspace["colour.txt"].text == "blue"

def asks(stage):
    assert stage.ask_user("Which colour do you like?") == "blue"
    (stage.workspace / "colour.txt").write_text("blue")

@eval_test(USUALLY_PASSES, prompt="Ask for my colour.", passes_on=asks,
           user=ScriptedUser(answers=[UserReply("blue", when="colour")]))
def by_question(rig, result):
    assert [(one.text, one.answer) for one in rig.user.questions] == [("Which colour do you like?", "blue")]
    assert rig.workspace["colour.txt"].text == "blue"

def talks(stage):
    stage.say("Which colour?")
    (stage.workspace / "colour.txt").write_text(stage.reply("blue"))

@eval_test(USUALLY_PASSES, passes_on=talks, user=SimulatedUser(
    goal="You want your favourite colour, blue, in colour.txt.", persona="in a hurry", opening="Write my colour."))
def played(rig, result):
    assert rig.workspace["colour.txt"].text == "blue"
    assert rig.user.replies == ("blue",)
"""
SCENARIO = """\
policy = "USUALLY_PASSES"
prompt = "Write my colour."

[user]
replies = [{ text = "blue", when = "which colour" }, "and stop"]
max_turns = 1

[[checks]]
check = "file_contains"
path = "colour.txt"
text = "blue"
"""
MODEL = """\
def play(turn):
    if "Ask for" in turn.prompt:
        if turn.done == 0:
            return turn.call_tool("ask_user", {"question": "Which colour do you like?"})
        if turn.done == 1:
            return turn.call("edit", path="colour.txt", content=turn.results[0].text)
        return "Done."
    if turn.prompt == "Write my colour.":
        return "Which colour? SECRET"
    if turn.done == 0:
        return turn.call("edit", path="colour.txt", content=turn.prompt)
    return "Done."
"""
PERSON = '''\
"""Plays a user; it notes what it was shown."""
from pathlib import Path

def play(turn):
    with open(Path(__file__).parent / "asked.txt", "a") as file:
        file.write(turn.prompt + "\\n=====\\n")
    if turn.request.tools[0].name == "role":
        return turn.call_tool("role", {"in_role": "AN AI" not in turn.prompt, "reason": "It speaks like a user."})
    done = "Done." in turn.prompt
    return turn.call_tool("reply", {"message": "" if done else "blue", "done": done})
'''
SECRET = "sk-proj-" + "a1B2" * 10
CONFIG = """\
subjects = ["native:helper"]
trials = 1
[models.helper]
script = "helper.py"
[models.person]
script = "person.py"
price = { input = 10.0, output = 20.0 }
[judge]
model = "person"
"""


def records(project: Project) -> dict[str, dict[str, Any]]:
    """The last record of each eval of the latest run."""
    lines = (project.folder / "results/latest/ledger.jsonl").read_text().splitlines()
    return {one["eval"]: one for one in map(json.loads, lines)}


def write(project: Project, *, person: str = PERSON, evals: str = EVALS) -> None:
    project.write(demeanor_toml=CONFIG, evals__eval_users_py=evals, evals__rules__scenario_toml=SCENARIO)
    project.write(helper_py=MODEL.replace("SECRET", SECRET), person_py=person)


@pytest.fixture(scope="module")
def ran_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five trials with users, recorded as cassettes too; then both models are deleted."""
    project = Project(tmp_path_factory.mktemp("users") / "project")
    write(project)
    done = project.demeanor("run", "--policy", "all", "--record", "cassettes")
    assert done.returncode == 0, done.stdout + done.stderr
    for script in ("helper.py", "person.py"):
        (project.folder / script).unlink()
    return project.folder


@pytest.fixture
def ran(project: Project, ran_once: Path) -> Project:
    """A copy of it."""
    shutil.copytree(ran_once, project.folder, dirs_exist_ok=True, symlinks=True)
    return project


def test_every_kind_of_user_replies_and_a_model_that_plays_one_is_recorded_and_priced(ran: Project):
    found = records(ran)
    assert {name: one["verdict"]["outcome"] for name, one in found.items()} == dict.fromkeys(
        ("by_rule", "by_function", "by_question", "played", "rules"), "pass"
    )
    assert found["by_rule"]["spent"]["cost_usd"] == 0
    assert found["played"]["spent"]["cost_usd"] > 0, "the agent itself is free"
    assert any(note.startswith("user person: asked 3 times, $0.") for note in found["played"]["notes"])
    asked = (ran.folder / "asked.txt").read_text()
    assert "--- begin goal" in asked
    assert "in a hurry" in asked
    assert SECRET not in asked
    assert "redacted" in asked


def test_a_trace_shows_the_users_replies_where_they_were_given(ran: Project):
    """Otherwise a conversation can't be followed. Answers within a turn are results of the agent's tool."""
    text = ran.demeanor("trace", "by_rule").stdout
    said, reply, call = (text.index(part) for part in ("Which colour?", "the user replied\n      blue", "write_file"))
    assert said < reply < call
    assert "the user replied" not in ran.demeanor("trace", "by_question").stdout


def test_users_are_judged_again_and_replayed_without_a_model(ran: Project):
    again = ran.demeanor("rejudge")
    assert "0 changed" in again.stdout, again.stdout + again.stderr
    replayed = ran.demeanor("run", "--policy", "all", "--replay", "cassettes")
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert records(ran)["played"]["spent"]["cost_usd"] == 0


def test_evals_with_users_prove_themselves_without_a_model(ran: Project):
    done = ran.demeanor("validate", "evals/eval_users.py")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("person", "detail"),
    [
        ("def play(turn):\n    return 'As you like.'\n", "did not call the tool `reply`: 'As you like.'"),
        (PERSON.replace('"AN AI" not in turn.prompt', "False"), "left its role: It speaks like a user."),
    ],
)
def test_a_user_that_breaks_or_leaves_its_role_voids_the_trial(project: Project, person: str, detail: str):
    write(project, person=person)
    done = project.demeanor("run", "-k", "played", "--json")
    assert done.returncode == 3, done.stdout + done.stderr
    verdict = records(project)["played"]["verdict"]
    assert (verdict["outcome"], verdict["cause"]) == ("void", "user")
    assert detail in verdict["detail"]


def test_a_function_that_crashes_and_a_question_without_an_answer_void_the_trial(project: Project):
    evals = EVALS.replace('    if "colour.txt" in', '    if rig.nonsense or "colour.txt" in')
    write(project, evals=evals.replace('UserReply("blue", when="colour")', 'UserReply("blue", when="size")'))
    assert project.demeanor("run", "-k", "by_").returncode == 3
    found = records(project)
    causes = {name: found[name]["verdict"].get("cause") for name in ("by_rule", "by_function", "by_question")}
    assert causes == {"by_rule": None, "by_function": "user", "by_question": "user"}
    assert "the user's function crashed: AttributeError" in found["by_function"]["verdict"]["detail"]
    assert "no answer to the agent's question: 'Which colour do you like?'" in found["by_question"]["verdict"]["detail"]


def test_faults_and_budgets_reach_the_model_that_plays_the_user(project: Project):
    write(project)
    project.write(demeanor_toml="attempts = 2\n" + CONFIG)
    assert project.demeanor("run", "-k", "played", "--fault", "user:500@1").returncode == 0
    assert project.demeanor("run", "-k", "played", "--fault", "user:500").returncode == 3
    assert records(project)["played"]["verdict"]["cause"] == "user"
    assert project.demeanor("run", "-k", "played", "--budget", "0.0001usd").returncode == 3
    assert records(project)["played"]["verdict"]["cause"] == "budget"


def test_mistakes_are_refused_before_anything_runs(project: Project):
    write(project, evals=EVALS.replace('opening="Write my colour."', 'model="nobody"'))
    done = project.demeanor("run", "evals/eval_users.py")
    assert done.returncode == 2
    assert "prompt: is required" in done.stderr, done.stderr
    write(project, evals=EVALS.replace('persona="in a hurry"', 'model="nobody"'))
    done = project.demeanor("run", "evals/eval_users.py")
    assert done.returncode == 2
    assert "played: the simulated user can't be played" in done.stderr, done.stderr
    write(project)
    project.write(evals__rules__scenario_toml=SCENARIO.replace("max_turns = 1", "turns = 1"))
    done = project.demeanor("run", "evals/rules")
    assert done.returncode == 2
    assert "user.turns: unknown key" in done.stderr, done.stderr
