"""Gemini CLI's guide to behavioural evals (`evals/README.md`), sentence by sentence: what its reader does and sees.

docs/from-gemini-cli.md is the short form. The agent is a program with a prompt file, a build and three models.
"""

from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest

from tests.helpers.project import Project
from tests.helpers.reader import Reader, missing
from tests.helpers.versions import Nights

AGENT = """\
#!/bin/sh
# Writes what it is asked for. Unless its prompt says "Save", gemini-3-flash forgets that every third time.
model=$1
echo '{"text": "Done."}'
[ -z "$DEMEANOR_AGENT_DEBUG" ] || echo "debug: $model was asked" > "$HOME/agent-debug.log"
if [ "$model" = gemini-3-flash ] && ! grep -q Save "$(dirname "$0")/system.md"; then
    number=1
    while ! mkdir "$COUNT/$number" 2>/dev/null; do number=$((number + 1)); done
    [ $((number % 3)) != 0 ] || exit 0
fi
printf 'print(1)\\n' > hello.py
echo '{"tool": "write_file", "arguments": {"path": "hello.py", "content": "print(1)"}}'
"""
CONFIG = """\
subjects = ["gemini:gemini-3.1-pro", "gemini:gemini-3-pro", "gemini:gemini-3-flash"]
sandbox = "none"
jobs = 1
build = ["make", "--silent", "bundle"]

[agents.gemini]
adapter = "command"
command = ["./bundle/gemini", "{model}", "{prompt}"]
output = "jsonl"
events = { tool = "tool", arguments = "arguments", text = "text" }
env = { COUNT = "%s" }

[agents.engineer]
adapter = "command"
command = ["sh", "-c", "echo 'Save what the user asks you to save.' > prompts/system.md", "{prompt}"]

[fix]
fixer = "engineer"
allowed = ["prompts/**"]
"""
CAREFUL, VAGUE = "Save what the user asks for.\n", "Be brief.\n"
MAKEFILE = (
    ".PHONY: bundle\nbundle:\n\tmkdir -p bundle && cp src/gemini.sh bundle/gemini && cp prompts/system.md bundle/\n"
)
EVAL = """\
from demeanor import USUALLY_PASSES, eval_test


def saves(stage):
    (stage.workspace / "hello.py").write_text("print(1)\\n")
    stage.call("write_file", path="hello.py", content="print(1)")


@eval_test(
    USUALLY_PASSES,
    name="saves code when asked",
    prompt="Save a program that prints 1 in hello.py.",
    params={"env": {"SETTING": "1"}},
    log=True,
    passes_on=saves,
)
async def saves_code(rig, result):
    assert rig.calls.of_kind("edit"), "it did not choose to write to disk"
    assert "print" in rig.workspace["hello.py"].text
"""
SECOND = EVAL.replace("saves code when asked", "saves a second one").replace("def saves_code", "def saves_second")


class GeminiCli(Nights):
    """The repository of the agent, with one eval; its nights are dated."""

    def __init__(self, project: Project) -> None:
        super().__init__(project)
        self.reader = Reader(project)
        count = self.folder.parent / "count"
        count.mkdir()
        agent = self.reader.writes("src/gemini.sh", AGENT)
        agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
        self.reader.writes("prompts/system.md", CAREFUL)
        self.reader.writes("Makefile", MAKEFILE)
        self.reader.writes("evals/eval_save.py", EVAL)
        self.reader.writes("demeanor.toml", CONFIG % count)
        self.reader.writes(".gitignore", "results/\nbundle/\n__pycache__/\n")
        self.commit("An agent that saves")


@pytest.fixture
def gemini(project: Project) -> GeminiCli:
    return GeminiCli(project)


def test_creating_and_running_an_evaluation(gemini: GeminiCli) -> None:
    """The sections *Why Behavioral Evals?*, *Creating an Evaluation* and *Running Evaluations*."""
    reader = gemini.reader

    reader.reads("behavioral evals verify that the model chooses to take the correct action")
    reader.types("demeanor validate", "ok saves code when asked", "0 faulty")

    reader.reads("Evaluations are located in the `evals` directory.")
    reader.types("demeanor validate --list", "saves code when asked", "eval_save.py")

    reader.reads("`assert`: An async function that takes the test rig and the result of the run")
    reader.edits("evals/eval_save.py", 'hello.py"].text', 'hullo.py"].text')
    reader.types("demeanor validate", "FAULT saves code when asked", "there is no 'hullo.py'", exit_code=1)
    gemini.git("checkout", "--quiet", ".")

    reader.reads("First, build the bundled Gemini CLI. You must do this after every code change.")
    reader.types("demeanor run --trials 1", "building the working tree with `make --silent bundle`")
    reader.types("demeanor run --trials 1", "not built again: the working tree is unchanged")

    reader.reads("`log`: [...] will log the tool calls to a file in the `evals/logs` directory")
    reader.types("cat evals/logs/*flash.trial-1.log", 'write_file(path="hello.py"')
    reader.types("cat results/latest/run.json", '"dirty": false')

    reader.reads("To run the evaluations that are expected to always pass (CI safe)")
    reader.types("demeanor run --policy always", "no eval is ALWAYS_PASSES (1 eval collected)", exit_code=3)

    reader.reads("To run all evaluations, including those that may be flaky")
    reader.types("demeanor run --trials 1", "1 eval on 3 subjects")
    reader.types("demeanor run --trials 1", "no eval is ALWAYS_PASSES", exit_code=3, CI="true")

    reader.reads("sets the `RUN_EVALS` environment variable to `1`, which enables the `USUALLY_PASSES` tests")
    reader.types("demeanor run --trials 1", "1 eval on 3 subjects", CI="true", RUN_EVALS="1")

    reader.reads("Did a change to the system prompt make the model less likely to use tool X?")
    gemini.git("switch", "--quiet", "-c", "shorter")
    reader.writes("prompts/system.md", VAGUE)
    gemini.commit("A shorter prompt")
    reader.types("demeanor compare --base main --trials 6 --subject gemini:gemini-3-flash", "8/12", exit_code=1)


def test_stable_prior_to_check_in(gemini: GeminiCli) -> None:
    """The sections *Policies* and *Ensuring Eval is Stable Prior to Check-in*."""
    reader = gemini.reader
    gemini.nights(1, trials=3)
    gemini.git("switch", "--quiet", "-c", "new-eval")

    reader.reads("All new behavioral evaluations must be created with the `USUALLY_PASSES` policy.")
    second = reader.writes("evals/eval_second.py", SECOND.replace("USUALLY_PASSES", "ALWAYS_PASSES"))
    reader.types("demeanor validate", "ALWAYS_PASSES without a recorded promotion", exit_code=1)
    reader.types("demeanor gate", "manual_promotion", exit_code=1)

    reader.reads("This lets them be monitored in the nightly runs without blocking PRs.")
    second.write_text(SECOND)
    reader.types("demeanor validate", "0 faulty")

    reader.reads("Each run of it executes a test 3 times in a row, for each supported model.")
    reader.writes("prompts/system.md", VAGUE)
    gemini.commit("A new eval, and a shorter prompt")
    reader.types("demeanor nightly --scenario 'saves a second one' --dry-run", "3 cells, 9 trials")

    reader.reads("The result is then scored 0%, 33%, 66%, or 100% respectively")
    scored = reader.types("demeanor nightly --scenario 'saves a second one'", "2 of 3 passed, at least two of three")
    assert ("100 % [44–100]" in scored, "67 % [21–94]" in scored) == (True, True)

    reader.reads("Googlers can schedule a manual run against their branch")
    reader.types("demeanor report", "on new-eval", "saves a second one")
    reader.types("demeanor promote", "1 nightly run not counted: 1 on branch new-eval")

    reader.reads("Tests should score at least 66% with key models [...] prior to check in")
    reader.types("demeanor gate --scenario 'saves a second one'", "May merge", "two_of_three")


def test_from_incubation_to_promotion(gemini: GeminiCli) -> None:
    """The sections *Test promotion process*, *Reporting* and *Promoting evaluations*."""
    reader = gemini.reader

    reader.reads("The test must complete at least 10 nightly runs across all supported models.")
    gemini.nights(9, trials=3)
    reader.types(
        "demeanor promote", "No eval of 1 to promote", "9 of 10 nights in which every enabled subject was judged"
    )

    reader.reads("a **Nightly Summary** attached to the workflow run")
    gemini.night(trials=3)
    reader.types("demeanor report --format markdown", "`saves code when asked`")
    reader.types("demeanor init --ci github", "evals-nightly.yml")
    reader.types("cat .github/workflows/evals-nightly.yml", "cron:", "demeanor report", "--format markdown >>")
    gemini.git("clean", "--quiet", "--force", "-d")
    gemini.git("checkout", "--quiet", ".")

    reader.reads("Each cell represents the percentage of successful runs for a specific test")
    night = reader.types("demeanor report", "saves code when asked usually 100 % [44–100]")

    reader.reads("The table shows the pass rates for the last 7 nightly runs")
    assert "████████" in night
    assert "history: 7 nights before this run" in night

    reader.reads("**Total Pass Rate**: An aggregate metric of all evaluations run in that batch.")
    assert night.count("total pass rate 100 %") == 4  # of each model, and of all together

    reader.reads("Manual promotion is not allowed")
    reader.edits("evals/eval_save.py", "USUALLY_PASSES,", "ALWAYS_PASSES,")
    reader.types("demeanor validate", "ALWAYS_PASSES without a recorded promotion", exit_code=1)
    reader.types("demeanor gate", "manual_promotion", exit_code=1)
    gemini.git("checkout", "--quiet", ".")

    reader.reads("tests that have passed 100% of the time for ALL enabled models across the entire 7-run history")
    reader.types("demeanor promote --rule classic", "1 of 1 eval to promote to ALWAYS_PASSES", "✓✓✓✓✓✓✓ 63/63 3")
    reader.types("demeanor promote", "No eval of 1 to promote", "6 nights to go")
    gemini.nights(6, trials=3)
    reader.types("demeanor promote", "1 of 1 eval to promote to ALWAYS_PASSES")

    reader.reads("Updating the test file's policy [...] Running the promoted test locally to ensure correctness.")
    reader.types("demeanor promote --apply", "Promote eval saves code when asked", "verified here: 9 of 9 passed")
    changed = gemini.git("diff", "--stat")
    assert re.findall(r"(\S+) +\|", changed) == ["evals/eval_save.py"]
    assert "ALWAYS_PASSES," in (gemini.folder / "evals/eval_save.py").read_text()
    gemini.commit("Promote it")

    reader.reads("These run in every CI and can block PRs on failure.")
    gemini.git("switch", "--quiet", "-c", "vague")
    reader.types("demeanor gate", "May merge", CI="true")
    reader.writes("prompts/system.md", VAGUE)
    gemini.commit("A shorter prompt")
    reader.types("demeanor gate", "Must not merge", "gemini:gemini-3-flash", exit_code=1, CI="true")
    reader.types("demeanor run", "Rejected", exit_code=1, CI="true")


def test_fixing_an_evaluation(gemini: GeminiCli) -> None:
    """The section *Fixing Evaluations*."""
    reader = gemini.reader
    gemini.nights(3, trials=3)
    reader.types("demeanor fix 'saves code when asked'", "Nothing to fix: 1 eval", "--trials 20")
    reader.writes("prompts/system.md", VAGUE)
    gemini.commit("A shorter prompt")

    reader.reads("A significant drop in the pass rate for a `USUALLY_PASSES` test—even if it doesn't drop to 0%")
    gemini.night(trials=3)
    reader.types("demeanor report", "67 % [21–94] −33 ███◆▆")

    reader.reads("identify the failing test, and review test trajectory logs")
    reader.types("demeanor fix --dry-run", "2 of 3 trials passed", "it did not choose to write to disk")

    reader.reads("It prioritizes minimal changes [...] The prompt should prefer positive traits ('do X')")
    reader.types("demeanor fix --dry-run", "Make the smallest change", "Prefer positive wording")

    reader.reads("you can also enable verbose agent logs by setting the `GEMINI_DEBUG_LOG_FILE` environment variable")
    reader.types("demeanor run --trials 1", DEMEANOR_AGENT_DEBUG="1")
    reader.types("cat results/latest/*/gemini-gemini-3-flash/trial-1/logs/*", "gemini-3-flash was asked")

    reader.reads("If an evaluation is failing or has a regressed pass rate [...] To use it, run: /fix-behavioral-eval")
    fixed = reader.types("demeanor fix", "Fixed: 1 eval after 1 round")

    reader.reads("It generally tries to avoid changing the test itself.")
    folder = max((gemini.folder / "results/fixes").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    report = json.loads((folder / "report.json").read_text())
    assert re.findall(r"^\+\+\+ b/(\S+)", report["rounds"][-1]["patch"], re.M) == ["prompts/system.md"]

    reader.reads("Provide a summary of the success rate for each model and details on the applied fixes.")
    for model in ("gemini-3.1-pro", "gemini-3-pro", "gemini-3-flash"):
        assert f"gemini:{model}" in fixed

    reader.reads("the name of a specific test to focus the investigation")
    reader.types("demeanor fix 'saves code when asked' --apply", "Fixed: 1 eval")
    reader.types("cat prompts/system.md", "Save what the user asks you to save.")

    reader.reads("you can use the `/fix-behavioral-eval` command within Gemini CLI")
    reader.types("demeanor init guides", ".gemini/skills/")
    reader.types("cat .gemini/skills/*fix*/SKILL.md", "demeanor fix")


def test_a_regressed_pass_rate_is_fixed_although_the_latest_night_passed(gemini: GeminiCli) -> None:
    """The same section: one night in three of an eval that fails in every third trial has no failure."""
    reader = gemini.reader
    flash = ("--subject", "gemini:gemini-3-flash")
    gemini.nights(20, *flash, trials=3)
    reader.writes("prompts/system.md", VAGUE)
    gemini.commit("A shorter prompt")
    gemini.nights(8, *flash, trials=3)
    gemini.night(*flash, trials=2)

    reader.reads("If an evaluation is failing or has a regressed pass rate, you can use `/fix-behavioral-eval`")
    reader.types("demeanor report", "Got worse saves code when asked · gemini:gemini-3-flash: 100 % →", "2 of 2 judged")
    reader.types("demeanor fix --dry-run", "2 of 3 trials passed", "it did not choose to write to disk")


def test_the_page_names_what_is_typed_here() -> None:
    """Each command of ours on docs/from-gemini-cli.md is one that this journey types."""
    assert missing("from-gemini-cli", Path(__file__)) == []
