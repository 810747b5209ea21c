"""HOME before and after a trial, commands after the agent, and replaced descriptions of tools, end to end."""

from __future__ import annotations

import json

import pytest

from tests.helpers.project import Project

CONFIG = """\
subjects = ["learner"]
trials = 1
attempts = 1
[agents.learner]
adapter = "command"
command = ["/bin/sh", "{project}/learner.sh", "{prompt}"]
"""
LEARNER = """\
case "$1" in
--report) echo "knows: $(cat "$HOME/.agent/memory.md")"; exit 4;;
*) test "$(cat "$HOME/.agent/seen.txt")" = "$PWD" || exit 9
   echo "$1" >> "$HOME/.agent/memory.md"; echo "big" > "$HOME/cache.bin"; echo "noted";;
esac
"""
EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

def remembers(stage):
    with (stage.home / ".agent/memory.md").open("a") as file:
        file.write("Use tabs.\\n")
    stage.then(exit_code=4, stdout="knows: Use tabs.")

def forgets(stage):
    stage.say("noted")

@eval_test(
    ALWAYS_PASSES,
    prompt="Use tabs.",
    home_files={".agent/memory.md": "Be brief.\\n", ".agent/seen.txt": "{workspace}", ".agent/old.md": "old"},
    keep_home=[".agent/**"],
    then=[["{agent}", "REPORTER", "--report"]],
    passes_on=remembers,
    fails_on=forgets,
)
def learns(rig, result):
    assert rig.home[".agent/memory.md"].text == "Be brief.\\nUse tabs.\\n"
    assert rig.home.modified == [".agent/memory.md"]
    assert "cache.bin" not in rig.home
    assert rig.then[0].exit_code == 4
    assert "Use tabs." in rig.then[0].stdout
"""
SCENARIO = """\
policy = "ALWAYS_PASSES"
prompt = "Use tabs."
home_files.".agent/seen.txt" = "{workspace}"
then = [["/bin/sh", "-c", "echo done > \\"$HOME/.agent/then.txt\\""]]
[[checks]]
check = "file_contains"
path = "~/.agent/memory.md"
text = "tabs"
[[checks]]
check = "file_equals"
path = "~/.agent/then.txt"
text = "done"
[passes_on]
home_files = { ".agent/memory.md" = "tabs", ".agent/then.txt" = "done" }
"""


@pytest.fixture
def learner(project: Project) -> Project:
    """A project with an agent that remembers what it was told."""
    script = f"{project.folder}/learner.sh"
    project.write(demeanor_toml=CONFIG.replace("{project}", str(project.folder)), learner_sh=LEARNER)
    project.write(evals__eval_learns_py=EVALS.replace("REPORTER", script))
    return project


def test_home_is_written_before_and_read_after_and_a_command_follows(learner: Project) -> None:
    """In Python and in scenario.toml, judged again from the store, and rehearsed without an agent."""
    learner.write(evals__learned__scenario_toml=SCENARIO)
    ran = learner.demeanor("run")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    edited = (learner.folder / "evals/eval_learns.py").read_text().replace("Be brief.\\nUse tabs.", "Be brief.")
    (learner.folder / "evals/eval_learns.py").write_text(edited)
    again = learner.demeanor("rejudge", "latest")
    assert "Use tabs" in again.stdout, again.stdout
    learner.write(evals__eval_learns_py=EVALS)
    validated = learner.demeanor("validate")
    assert validated.returncode == 0, validated.stdout


def test_a_command_after_the_agent_that_does_not_end_fails_the_trial(learner: Project) -> None:
    """It belongs to the trial's time."""
    endless = SCENARIO.replace("echo done >", "sleep 100; echo done >").replace('prompt = "', 'timeout = 1\nprompt = "')
    learner.write(evals__learned__scenario_toml=endless)
    ran = learner.demeanor("run", "evals/learned")
    assert (ran.returncode, "reached its time limit" in ran.stdout) == (1, True), ran.stdout


def test_reading_home_that_was_not_kept_is_a_mistake_of_the_check(learner: Project) -> None:
    """Void, with the remedy; never a verdict about the agent."""
    learner.write(evals__eval_learns_py=EVALS.replace('keep_home=[".agent/**"],', ""))
    ran = learner.demeanor("run", "evals/eval_learns.py")
    assert ran.returncode == 3, ran.stdout
    assert "no file of HOME was kept" in ran.stdout


MISTAKES = [
    ('home_files={"../out": "x"}', "home_files", "leads out of"),
    ('home_files="x"', "home_files", "expected a mapping of path to content"),
    ('keep_home=["/etc/passwd"]', "keep_home[0]", "is not relative to HOME"),
    ('then=["ls"]', "then[0]", "expected a list of words"),
    ('then=[["{agnet}"]]', "then[0]", "unknown placeholder {agnet}"),
    ('then=[["x{agent}"]]', "then[0]", "as a word of its own"),
    ('tools={"read_file": " "}', "tools.read_file", "is empty"),
]


@pytest.mark.parametrize(("argument", "key", "problem"), MISTAKES)
def test_mistakes_are_refused_with_key_and_remedy(learner: Project, argument: str, key: str, problem: str) -> None:
    """Before anything runs."""
    source = (
        f"from demeanor import *\n@eval_test(ALWAYS_PASSES, prompt='x', {argument})\ndef one(rig, result): return 1\n"
    )
    learner.write(evals__eval_learns_py=source)
    ran = learner.demeanor("validate", "--list")
    assert ran.returncode == 2
    assert f"{key}: " in ran.stderr, ran.stderr
    assert problem in ran.stderr, ran.stderr


MODEL = """\
def play(turn):
    tools = {tool.name: tool for tool in turn.request.tools}
    return "the tool says: " + tools["read_file"].description + " " + str(tools["read_file"].schema)
"""
NATIVE = """\
subjects = ["native:echo"]
trials = 1
attempts = 1
[models.echo]
script = "model.py"
"""
TOOLS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Read.", tools={"read_file": "Only for logs.", "read_file.path": "Never absolute."})
def sees(rig, result):
    assert "Only for logs." in result
    assert "Never absolute." in result

@eval_test(ALWAYS_PASSES, prompt="Read.")
def sees_its_own(rig, result):
    assert "Only for logs." not in result
"""


def test_descriptions_of_tools_are_replaced_on_the_wire_and_reported(project: Project) -> None:
    """The subject gets another fingerprint; an agent without such a tool is void; cassettes are refused."""
    project.write(demeanor_toml=NATIVE, model_py=MODEL, evals__eval_sees_py=TOOLS)
    ran = project.demeanor("run", "--json")
    report = json.loads(ran.stdout)
    assert ran.returncode == 0, ran.stdout
    assert any("replace:tool:read_file, replace:tool:read_file.path" in note for note in report["notes"]), report[
        "notes"
    ]
    fingerprints = {cell["tally"]["eval"]: cell["fingerprint"] for cell in report["cells"]}
    assert fingerprints["sees"] != fingerprints["sees_its_own"]
    assert project.demeanor("run", "--record", "tapes").returncode == 2
    project.write(evals__eval_sees_py=TOOLS.replace('"read_file":', '"read_fiel":'))
    void = project.demeanor("run", "evals/eval_sees.py::sees")
    assert (void.returncode, "tool:read_fiel" in void.stdout) == (3, True), void.stdout
