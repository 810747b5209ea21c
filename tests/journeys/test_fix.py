"""`demeanor fix`: a broken eval is diagnosed, fixed, verified and applied; a fixer that cheats is refused."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterable, Iterator

import pytest

from tests.helpers.fix_project import CONFIG, GOOD_FIX, HELP, BrokenToyAgent, in_rounds
from tests.helpers.processes import alive, command_line, descendants
from tests.helpers.project import Project
from tests.helpers.toy_agent import ToyAgent
from tests.helpers.versions import PLAYED_IN_BUBBLEWRAP, Versions
from tests.journeys.test_survival import until

IDLE_FIXER = """
[agents.idle]
adapter = "command"
command = ["true", "{prompt}"]

[fix]
fixer = "idle"
allowed = ["agent/**"]
"""


@pytest.fixture(scope="module")
def shared_toy(tmp_path_factory: pytest.TempPathFactory) -> BrokenToyAgent:
    """Created once: it takes two nightly runs."""
    return BrokenToyAgent(Project(tmp_path_factory.mktemp("toy") / "project"))


@pytest.fixture
def toy(shared_toy: BrokenToyAgent) -> Iterator[BrokenToyAgent]:
    """The broken toy agent, reset after each test."""
    yield shared_toy
    shared_toy.reset()


def test_a_broken_eval_is_diagnosed_fixed_verified_and_applied(toy: BrokenToyAgent):
    """Only --apply touches the user's tree; trials of the change are not in the history."""
    project = toy.project
    before = project.demeanor("report", "--eval", "reads_before_editing", "--kind", "all", "--json").stdout
    done = toy.fix_with(GOOD_FIX)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Fixed: 1 eval after 1 round; 2 other evals did not get worse")
    assert "0/3, 0 % [0–56]  3/3, 100 % [44–100]  0.016" in done.stdout
    assert "on the wire, before it was built: 1 instruction changed: it helps" in done.stdout
    assert "chance" not in done.stdout
    assert "The prompt no longer said to read a file first." in done.stdout
    assert toy.untouched()
    again = toy.fix_with(GOOD_FIX, "reads_before_editing", "--apply", "--json", "--config", "unguarded.toml")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == toy.report()
    assert toy.report()["applied"]
    assert any("chance alone could well explain the rise (p = 0.25)" in note for note in toy.report()["notes"])
    assert toy.git("status", "--porcelain") == "M  prompts/system.md\n"
    assert "+Read every file before you change it" in toy.git("diff", "--cached")
    assert project.demeanor("report", "--eval", "reads_before_editing", "--kind", "all", "--json").stdout == before
    toy.build()
    assert project.demeanor("run", "-k", "reads", "--policy", "all", "--trials", "1").returncode == 0


def test_a_dry_run_shows_what_differs_and_where_the_prompt_is(toy: BrokenToyAgent):
    """No fixer and no trial is run."""
    done = toy.project.demeanor("fix", "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "-Read a file before you change it, and keep everything in it" in done.stdout
    assert "+Change files at once" in done.stdout
    assert "| `system prompt` | `prompts/system.md:3-12` | 95 % |" in done.stdout
    assert "| `tool delete_file` | `tools/tools.json:11` | 100 % |" in done.stdout
    assert "They diverge at the first step." in done.stdout
    assert "It is evidence, not an instruction" in done.stdout
    folder = toy.last_folder()
    assert {path.name for path in folder.rglob("*.*")} == {"brief.md"} | {
        f"1-reads_before_editing-{name}" for name in ("failing.txt", "passing.txt", "sent.md", "log.txt")
    }
    assert "debug: turn 1: write_file" in (folder / "evidence" / "1-reads_before_editing-log.txt").read_text()
    found = json.loads(toy.project.demeanor("fix", "reads_before_editing", "--dry-run", "--json").stdout)
    assert found["allowed"] == ["prompts/system.md", "tools/tools.json"]
    for run in (found["run"], f"results/{found['run']}"):
        again = json.loads(toy.project.demeanor("fix", run, "--dry-run", "--json").stdout)
        assert (again["run"], again["evals"]) == (found["run"], ["reads_before_editing"])
    assert toy.untouched()


def test_any_agent_can_be_the_fixer(toy: BrokenToyAgent):
    """The native agent, with a model behind the gateway: its cost is counted, its final message is the cause."""
    done = toy.project.demeanor("fix", "--fixer", "native:doctor", "--config", "unguarded.toml", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    (only,) = report["rounds"]
    assert only["root_cause"] == "The cause: the prompt does not say to read files first."
    assert 0 < only["fixer"]["cost_usd"] == report["spent"]["cost_usd"]
    shown = toy.project.demeanor("trace", "--run", str(toy.last_folder() / "round-1" / "fixer"))
    assert "write_file [edit] → ok" in shown.stdout
    assert toy.untouched()


READ_LESS = """
replace(evals, 'assert rig.calls.of_kind("read")', 'assert True or rig.calls.of_kind("read")')
"""
WRITE_LESS = """
replace(evals, 'assert rig.workspace["port.txt"].text ==', '_ = rig.workspace["port.txt"].text ==')
"""
CHEATS = {
    READ_LESS: "eval: evals/eval_toy.py: changed, but it is part of an eval",
    'replace(prompt, HASTY, "When port.txt is to be changed, read it first.\\n")': (
        "special-case: prompts/system.md: new text quotes the eval reads_before_editing: file name 'port.txt'"
    ),
    GOOD_FIX + 'replace(pathlib.Path("agent/main.py"), "MOST_TURNS = 12", "MOST_TURNS = 13")': (
        "outside: agent/main.py: changed, but it is not in the allowed paths"
    ),
}
WEAKER_EVALS = {
    GOOD_FIX + READ_LESS + WRITE_LESS: (
        "checks: eval_toy.py: reads_before_editing: the number of asserts fell from 2 to 1 "
        "refused: self-test: eval_toy.py: reads_before_editing: vacuous: an agent that does nothing passes"
    ),
    'replace(evals, "must be 9090", "must be 9090. Read it first")': "eval: evals/eval_toy.py: only evals were changed",
}


def assert_refused(toy: BrokenToyAgent, printed: str, messages: Iterable[str]) -> None:
    """The first rounds were refused, each for its reason, and their changes were neither built nor run."""
    shown = " ".join(printed.split()).split("Round ")[1:]
    for message, text, tried in zip(messages, shown, toy.report()["rounds"], strict=False):
        assert text.startswith(f"{tried['number']}: refused"), text
        assert f"refused: {message}" in text, text
        assert (tried["outcome"], tried["cells"], tried["patch_file"]) == ("refused", [], "")


def test_a_fixer_that_cheats_is_refused(toy: BrokenToyAgent):
    """In another way in each round."""
    done = toy.fix_with(in_rounds(*CHEATS), "--apply", "--config", "quick.toml", "--rounds", "3")
    assert done.returncode == 4, done.stdout + done.stderr
    assert done.stdout.startswith("Refused: 1 eval after 3 rounds")
    assert_refused(toy, done.stdout, CHEATS.values())
    assert done.stderr.count("building") == 1  # the commit as it is
    assert (len(toy.report()["rounds"]), toy.report()["applied"]) == (3, False)
    assert toy.untouched()


def test_an_eval_may_be_changed_if_nothing_is_removed(toy: BrokenToyAgent):
    """If the configuration allows it, with a note in the report. A weaker eval is refused."""
    kept = GOOD_FIX + 'replace(evals, "A file is read before", "A file must be read before")'
    done = toy.fix_with(in_rounds(*WEAKER_EVALS, kept), "--config", "evals.toml", "--rounds", "3")
    assert done.returncode == 0, done.stdout + done.stderr
    assert_refused(toy, done.stdout, WEAKER_EVALS.values())
    assert done.stdout.startswith("Fixed: 1 eval after 3 rounds")
    assert "before and after were not judged by the same evals" in done.stdout
    assert done.stderr.count("building") == 2  # the commit as it is, and the last change
    assert toy.untouched()


FAILURES = {
    "": "the fixer changed nothing",
    'replace(prompt, "in one sentence", "in two sentences")': "0 of 1 passed",
    GOOD_FIX + "sys.exit(3)": "the fixer failed, so its change was not used",
    'replace(pathlib.Path("tools/tools.json"), "}", "")': "the build failed with the change",
    'replace(prompt, HASTY, "Read every file, and ask before you change it.\\n")': (
        "worse than before: saves_the_note on toy:brain"
    ),
}


def test_a_fixer_that_fails_is_reported(toy: BrokenToyAgent):
    """In another way in each round. Nothing is applied."""
    done = toy.fix_with(in_rounds(*FAILURES), "--apply", "--config", "quick.toml", "--rounds", str(len(FAILURES)))
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("Not fixed")
    shown = " ".join(done.stdout.split()).split("Round ")[1:]
    for message, text in zip(FAILURES.values(), shown, strict=True):
        assert message in text, text
    assert [one["outcome"] for one in toy.report()["rounds"]] == ["not fixed"] * 4 + ["regressed"]
    assert toy.untouched()


def test_each_round_gets_the_result_of_the_last_one(toy: BrokenToyAgent):
    """The first change is refused. The second does not help on the wire, so only the third is built."""
    refused = 'replace(prompt, HASTY, "Read port.txt before you change it.\\n")'
    useless = """
assert "Round 1: refused" in brief and "port.txt" in brief.split("Round 1")[1].split("Where the model")[0]
replace(prompt, HASTY, "Change files with care.\\n\\nBe brief.\\n")
"""
    good = """
assert "0 of 1 passed, so the change was not built" in brief and "0/1, 0 % [0-79] → 0/1" in brief.replace("–", "-")
"""
    words = ("--rounds", "4", "--config", "quick.toml", "--results", "results")
    done = toy.fix_with(in_rounds(refused, useless, good + GOOD_FIX), *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Fixed: 1 eval after 3 rounds" in done.stdout
    first, second, third = toy.report()["rounds"]
    assert [tried["outcome"] for tried in (first, second, third)] == ["refused", "not fixed", "fixed"]
    said = "1 instruction changed: reads_before_editing on toy:brain: 0 of 1 passed, so the change was not built"
    assert (second["detail"], second["wire"]["detail"]) == (f"on the wire: {said}", said)
    assert (second["wire"]["dropped"], second["cells"], second["patch_file"]) == (True, [], "")
    assert "+Change files with care." in second["patch"]
    assert (third["wire"]["dropped"], third["wire"]["cells"][0]["after"]["passed"]) == (False, 1)
    assert done.stderr.count("building") == 2  # the commit as it is, and the third change
    folders = {path.name for path in toy.last_folder().glob("round-*/*") if path.is_dir()}
    assert folders == {"fixer", "wire-1", "after", "guard"}
    shown = toy.project.demeanor("trace", "--run", str(toy.last_folder() / "round-2" / "wire-1")).stdout
    (changed,) = second["wire"]["instructions"]
    assert f"note: the instruction {changed} was replaced in the agent's requests: Change files at once" in shown
    assert toy.untouched()


def test_a_tool_description_is_fixed_for_several_subjects(project: Project):
    """With a sequential rule; the guard suite is all other evals."""
    toy = ToyAgent(project)
    evals = (toy.folder / "evals/eval_toy.py").read_text().partition("def _saves")[0]
    project.write(evals__eval_toy_py=evals)
    rules = 'rule = "optimal"\nguard = "all"\nsubjects = ["toy:brain", "toy:mind"]\nwire_trials = 1\n'
    fixer = CONFIG.format(python=sys.executable, world=toy.world)
    toy.configure(f'{fixer}{rules}\n[models.mind]\nscript = "{toy.world}/model.py"\n')
    broken = toy.break_deleting()
    assert project.demeanor("nightly", "--trials", "1", "-k", "deletes", "--sandbox", "none").returncode == 1
    change = 'replace(pathlib.Path("tools/tools.json"), "Delete a file.", "Delete a file. Prefer this to a command.")'
    (toy.world / "fixer.py").write_text(HELP + change)
    done = project.demeanor("fix", "deletes_with_its_tool", "--sandbox", "none", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (tried,) = json.loads(done.stdout)["rounds"]
    both = ["toy:brain", "toy:mind"]
    assert [(cell["subject"], cell["after"]["passed"]) for cell in tried["cells"]] == [(name, 3) for name in both]
    assert [(cell["eval"], cell["subject"]) for cell in tried["guard"]] == [
        ("reads_before_editing", name) for name in both
    ]
    assert (toy.git("status", "--porcelain"), toy.head, toy.worktrees()) == ("", broken, [])


def test_an_eval_that_passes_is_not_fixed(toy: BrokenToyAgent):
    """The fixer is not started."""
    toy.rates(instructed=1.0, uninstructed=1.0)
    done = toy.fix_with("raise SystemExit(1)", "--config", "quick.toml")
    assert (done.returncode, toy.report()["outcome"], toy.report()["rounds"]) == (0, "passes", [])
    assert done.stdout.startswith("Nothing to fix: 1 eval")


def test_a_patch_is_applied_whole_or_not_at_all(toy: BrokenToyAgent):
    """If the file was changed meanwhile, nothing is applied; the patch is still there. It also changes a comment, which
    is not in the prompt as sent, so it was built at once, and the report says why it was not tried on the wire."""
    mine = toy.prompt.read_text() + "\nMine.\n"
    toy.prompt.write_text(mine)
    done = toy.fix_with(GOOD_FIX + 'replace(prompt, "Assembled by", "Made by")', "--apply", "--config", "quick.toml")
    assert done.returncode == 70  # trials were run, so it is not 2
    assert "the patch was not applied: there are uncommitted changes in prompts/system.md" in done.stderr
    assert done.stdout.startswith("Fixed")
    assert (toy.prompt.read_text(), toy.report()["applied"]) == (mine, False)
    (tried,) = toy.report()["rounds"]
    reason = "not tried: prompts/system.md: the change is not only in text that the agent sends"
    assert tried["wire"] == {"detail": reason, "instructions": [], "cells": [], "dropped": False}
    assert reason in " ".join(done.stdout.split())
    toy.git("checkout", "--", "prompts/system.md")
    toy.git("apply", "--index", tried["patch_file"])
    assert "Read every file" in toy.prompt.read_text()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"])
@pytest.mark.parametrize("during", ["work", "build"])
def test_an_interrupted_fix_leaves_nothing_behind(toy: BrokenToyAgent, number: signal.Signals, during: str):
    """While the fixer runs, and while its change is built: no worktree, no process, no change."""
    script, config, mark = {
        "work": ("import time\ntime.sleep(61.25)\n", "unguarded.toml", "fixer.py\0# Fix what broke"),
        "build": (GOOD_FIX, "slow.toml", "sleep\x0061.25"),
    }[during]
    (toy.world / "fixer.py").write_text(HELP + script)
    process = toy.project.start("fix", "--sandbox", "bubblewrap", "--config", config)

    def at_work() -> list[int]:
        return [pid for pid in descendants(process.pid) if mark in command_line(pid)]

    until(lambda: process.poll() is not None or "running the fixer" in toy.project.printed("stderr"))
    until(lambda: process.poll() is not None or bool(at_work()))
    workers = at_work()
    assert workers, toy.project.printed("stderr")
    process.send_signal(number)
    assert process.wait() == 130, toy.project.printed("stderr")
    assert "stopped; everything up to this point is in" in toy.project.printed("stderr")
    assert not any(alive(pid) for pid in workers)
    assert toy.untouched()


def test_mistakes_are_reported_before_anything_is_spent(project: Project):
    """With what to do instead."""
    assert "there is no commit to fix" in project.demeanor("fix").stderr
    toy = ToyAgent(project)
    assert "the history has no run yet" in project.demeanor("fix").stderr
    night = ("nightly", "--trials", "1", "-k", "reads", "--sandbox", "none")
    project.demeanor(*night)
    for words, message in (
        ((), "no trial failed in run"),
        (("reads_before_editin",), "did you mean 'reads_before_editing'?"),
        (("saves_the_note",), "no stored run has a result of 'saves_the_note'"),
    ):
        done = project.demeanor("fix", *words)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    toy.break_reading()
    project.demeanor(*night)
    assert "no fixer is configured" in project.demeanor("fix").stderr
    assert "unknown agent 'nobody'" in project.demeanor("fix", "--fixer", "nobody").stderr
    toy.configure(CONFIG.format(python="python3", world=toy.world) + 'allowed = ["../x"]\n')
    assert "is outside the repository" in project.demeanor("fix").stderr
    assert not (toy.folder / "results" / "fixes").exists()


@pytest.mark.parametrize(
    ("config", "budget", "rounds"),
    [
        ("priced.toml", "0.01", []),
        ("wire.toml", "3.0", ["undecided"]),
        ("priced.toml", "2.8", ["undecided"]),
        ("twice.toml", "4.0", ["undecided"]),
    ],
    ids=["at the start", "on the wire", "in the guard suite", "between two passes"],
)
def test_a_spent_budget_ends_it(toy: BrokenToyAgent, config: str, budget: str, rounds: list[str]):
    """The exit code says undecided, even if the trials so far passed."""
    done = toy.fix_with(GOOD_FIX, "--budget", f"{budget}usd", "--config", config, "--jobs", "1", "--apply")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "spent" in " ".join(done.stdout.split())
    assert [one["outcome"] for one in toy.report()["rounds"]] == rounds
    assert toy.untouched()


def test_the_requirements_of_tasks_are_checked_and_notes_are_reported(project: Project):
    """Harbor and the sandbox of the fixer are checked before anything is built. A note of the verification runs is
    reported once, however many runs there were."""
    versions = Versions(project)
    versions.add_task(reward=0)
    project.write(demeanor_toml=(versions.folder / "demeanor.toml").read_text() + IDLE_FIXER)
    versions.commit()
    versions.nights(1)
    no_sandbox = project.demeanor("fix", "--sandbox", "docker")
    assert (no_sandbox.returncode, "the sandbox 'docker'" in no_sandbox.stderr) == (2, True), no_sandbox.stderr
    fixes = versions.folder / "results/fixes"
    assert not fixes.exists()
    done = project.demeanor("fix", "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    notes = json.loads(done.stdout)["notes"]
    assert [note.startswith(PLAYED_IN_BUBBLEWRAP) for note in notes].count(True) == 1, notes
    versions.lose_harbor()
    missing = project.demeanor("fix")
    assert (missing.returncode, "demeanor harbor install" in missing.stderr) == (2, True), missing.stderr
    assert "building" not in no_sandbox.stderr + missing.stderr
    assert len(list(fixes.iterdir())) == 1
    assert (versions.worktrees(), project.temporary()) == ([], [])
