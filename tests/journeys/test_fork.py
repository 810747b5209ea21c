"""From a trial that failed to the step that decided it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.project import Project
from tests.helpers.toy_agent import ToyAgent

MODELS = """\
NAMES = ("a.txt", "b.txt", "c.txt", "d.txt")


def careless(turn):
    return step(turn, "wrong" if turn.done == 2 else "right")


def careful(turn):
    return step(turn, "right")


def late(turn):
    if turn.done < 2:
        return "I was asked too early."
    return step(turn, "right")


def step(turn, word):
    if turn.done == len(NAMES):
        return "Done."
    return turn.call("edit", path=NAMES[turn.done], content=word)
"""
CONFIG = """\
subjects = ["native:careless"]
[models]
careless = {script = "models.py:careless"}
careful = {script = "models.py:careful"}
late = {script = "models.py:late"}
"""
EVAL = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="Write the four files.")
def writes_the_files(rig, result):
    assert [rig.workspace[f"{name}.txt"].text for name in "abcd"] == ["right"] * 4
"""
SCENARIO = """\
policy = "USUALLY_PASSES"
prompt = "Write the four files."
start = "third"
[[checks]]
check = "file_contains"
path = "c.txt"
text = "right"
"""
TRIAL = "writes_the_files/native:careless/1"


def with_a_failed_trial(project: Project) -> Project:
    """A project with one trial, which went wrong at its third step."""
    project.write(models_py=MODELS, demeanor_toml=CONFIG, evals__eval_files_py=EVAL)
    assert project.demeanor("run", "--policy", "all", "--trials", "1").returncode == 1
    return project


@pytest.fixture(scope="module")
def shared_failed(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """That project, to be copied."""
    return with_a_failed_trial(Project(tmp_path_factory.mktemp("failed") / "project"))


@pytest.fixture
def failed(shared_failed: Project, tmp_path: Path) -> Project:
    """A copy of it."""
    return shared_failed.copy_to(tmp_path / "project")


def forked(project: Project, *words: str, code: int = 0) -> dict[str, Any]:
    """The report of a fork."""
    done = project.demeanor("fork", TRIAL, *words, "--json")
    assert done.returncode == code, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_rest_of_a_trial_is_asked_of_another_model_or_answered_by_a_person(failed: Project):
    """The steps before are replayed to the real agent, and cost nothing; the history and `latest` stay as they are."""
    listed = failed.demeanor("fork")
    assert listed.returncode == 0
    assert TRIAL in listed.stdout
    assert "   3  write_file(path='c.txt', content='wrong')" in listed.stdout
    latest = (failed.folder / "results/latest").resolve()
    report = forked(failed, "--at", "3", "--trials", "2", "--subject", "native:late")
    step = report["steps"][2]
    assert (step["passed"], step["failed"], report["outcome"]) == (2, 0, "measured")
    assert report["changed"] == ["asked native:late"]
    records = [json.loads(line) for line in Path(report["folder"], "ledger.jsonl").read_text().splitlines()]
    (whole,) = (json.loads(line) for line in (latest / "ledger.jsonl").read_text().splitlines())
    assert all(one["spent"]["input_tokens"] < whole["spent"]["input_tokens"] for one in records)
    assert {one["eval"] for one in records} == {"writes_the_files@3"}
    late = forked(failed, "--at", "4", "--trials", "1", "--subject", "native:careful")
    assert (late["steps"][3]["passed"], late["steps"][3]["failed"]) == (0, 1)
    answer = {"calls": [{"tool": "write_file", "arguments": {"path": "c.txt", "content": "right"}}]}
    Path(failed.folder, "answer.json").write_text(json.dumps(answer))
    instead = forked(failed, "--at", "3", "--trials", "1", "--instead", "answer.json")
    assert instead["steps"][2]["passed"] == 1
    assert (failed.folder / "results/latest").resolve() == latest
    assert failed.demeanor("report", "--eval", "writes_the_files", "--kind", "all").returncode == 0
    assert failed.demeanor("report", "--eval", "writes_the_files@3", "--kind", "all").returncode == 2


def test_a_scan_names_the_decisive_step_and_what_passing_trials_did_there(project: Project):
    """With far fewer trials than steps times trials, and a curve of the pass rate."""
    failed = with_a_failed_trial(project)  # no copy: the dashboard finds trials by the absolute path in the history
    report = forked(failed, "--scan", "--subject", "native:careful")
    found = report["decisive"]
    assert (report["outcome"], found["step"], found["until"]) == ("found", 3, 3)
    assert found["did"] == "write_file(path='c.txt', content='wrong')"
    assert found["instead"][0]["did"] == "write_file(path='c.txt', content='right')"
    assert found["confidence"] >= report["asked_confidence"] == 0.95
    assert all(step["failed"] == 0 for step in report["steps"][:3])
    assert all(step["passed"] == 0 for step in report["steps"][3:])
    assert report["trials"] <= 20
    exported = failed.demeanor("serve", "--export", "site")
    assert exported.returncode == 0, exported.stderr
    pages = [path.read_text() for path in Path(failed.folder, "site").rglob("*.html")]
    page = next(text for text in pages if "Chance of passing by step" in text)
    assert "Step 3 decided it" in page
    assert 'Passing trials did there instead: <span class="mono">write_file(path=' in page


def test_a_saved_prefix_is_where_a_decision_point_eval_starts(failed: Project):
    """In Python and in scenario.toml; validation tells when the agent or the scenario has changed, and renews it."""
    saved = failed.demeanor("fork", TRIAL, "--at", "3", "--save", "third")
    assert saved.returncode == 0, saved.stderr
    assert failed.demeanor("fork", TRIAL, "--at", "3", "--save", "third").returncode == 2
    file = failed.folder / "evals/prefixes/third.json"
    decision = EVAL.replace("USUALLY_PASSES, prompt", 'USUALLY_PASSES, start=prefix("third"), prompt')
    decision = decision.replace("def writes_the_files", "def writes_the_third").replace(
        ", eval_test", ", eval_test, prefix"
    )
    failed.write(evals__eval_third_py=decision, evals__third__scenario_toml=SCENARIO)
    shutil.copytree(file.parent, failed.folder / "evals/third/prefixes")
    run = ("run", "--trials", "1", "--json", "--subject", "native:late")
    done = failed.demeanor(*run, "--subject", "native:careless", "-k", "third")
    assert done.returncode == 1, done.stdout + done.stderr
    results = {(cell["scenarioId"], cell["modelId"]): cell["status"] for cell in json.loads(done.stdout)["results"]}
    assert results == {
        (name, model): status
        for name in ("third", "writes_the_third")
        for model, status in (("late", "pass"), ("careless", "fail"))
    }
    (failed.folder / "other.py").write_text("def agent(session):\n    return 'Done.'\n")
    failed.write(demeanor_toml=CONFIG + '[agents.other]\nadapter = "python"\nfunction = "other.py:agent"\n')
    other = failed.demeanor("run", "-k", "third", "--trials", "1", "--subject", "other:late")
    assert other.returncode == 3, other.stdout + other.stderr
    assert "it starts from a trial of native, which other can't continue" in " ".join(other.stdout.split())
    failed.write(demeanor_toml=CONFIG)
    failed.write(evals__eval_third_py=decision.replace("four files.", "four files now."))
    stale = failed.demeanor(*run, "-k", "writes_the_third")
    assert (stale.returncode, "demeanor validate --refresh" in stale.stderr) == (2, True)
    assert prefix_states(failed, code=1) == ["fresh", "stale"]
    assert prefix_states(failed, "--refresh") == ["fresh", "refreshed"]
    assert prefix_states(failed) == ["fresh", "fresh"]
    assert failed.demeanor(*run, "-k", "writes_the_third").returncode == 0
    file.write_text(file.read_text().replace("right", "wrong"))
    assert prefix_states(failed, code=1) == ["fresh", "unreadable"]


def prefix_states(project: Project, *words: str, code: int = 0) -> list[str]:
    """The states of all prefixes; the scenario folder comes first."""
    done = project.demeanor("validate", "--json", *words)
    assert done.returncode == code, done.stdout + done.stderr
    found = {one["eval"]: one["state"] for one in json.loads(done.stdout)["prefixes"]}
    return [found[name] for name in ("third", "writes_the_third")]


def test_an_agent_that_differs_before_the_step_is_refused(project: Project):
    """Its trials are void with the first difference; nothing is concluded from them."""
    toy = ToyAgent(project)
    run = ("run", "-k", "reads", "--policy", "all", "--trials", "1")
    assert project.demeanor(*run).returncode == 0
    toy.prompt.write_text(toy.prompt.read_text() + "\nSpeak Latin.\n")
    done = project.demeanor("fork", "reads_before_editing", "--at", "2", "--trials", "1", COLUMNS="300")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "no trial that starts at step 2 could be judged" in done.stdout
    assert "void(prefix): the agent's request differs from the recording before step 2" in done.stdout
    assert "Speak Latin." in done.stdout


LEAKY = """\
import os

def play(turn):
    if turn.done == 0:
        return turn.call("edit", path="a.txt", content="key = correct-horse-battery")
    return turn.call("edit", path="b.txt", content="x") if turn.done == 1 else "Done."
"""


def test_a_secret_in_a_recorded_answer_stays_removed_and_the_trial_says_so(project: Project):
    """In a fork and in a replay. A mark in a cassette must not be a way to get the project's secrets."""
    config = 'subjects = ["native:leaky"]\n[models]\nleaky = {script = "models.py"}\n'
    project.write(models_py=LEAKY, demeanor_toml=config, evals__eval_files_py=EVAL)
    secret = {"STORE_API_KEY": "correct-horse-battery"}
    run = ("run", "--policy", "all", "--trials", "1")
    recorded = project.demeanor(*run, "--record", "tapes", **secret)
    assert recorded.returncode == 1, recorded.stdout + recorded.stderr
    fork = project.demeanor("fork", "--at", "2", "--trials", "1", "--json", **secret)
    project.demeanor(*run, "--replay", "tapes", **secret)
    for folder, start in (
        (json.loads(fork.stdout)["folder"], "a recorded answer has ‹redacted:"),
        (project.folder / "results/latest", "a recorded answer has "),
    ):
        (record,) = (json.loads(line) for line in Path(folder, "ledger.jsonl").read_text().splitlines())
        (note,) = (note for note in record["notes"] if "in place of a secret" in note)
        assert note.startswith(start)
        assert "correct-horse" not in json.dumps(record)


USAGE = (
    (("--at", "9"), "has steps 1 to 5"),
    (("--at", "3", "--subject", "goose:careful"), "the recorded agent is native"),
    (("--at", "3", "--instead", "missing.json"), "missing.json: --instead: can't be read"),
    (("--at", "3", "--instead", "bad.json"), "calls[0].tool: the agent offers no tool 'writefile'"),
    (("--instead", "bad.json"), "--instead needs --at K"),
    (("--at", "3", "--edit-prompt", "remove:x"), "'x' is not the id of an instruction"),
)


def test_options_that_make_no_sense_are_refused(failed: Project):
    """Before anything is run."""
    failed.write(bad_json='{"calls": [{"tool": "writefile"}]}')
    for words, message in USAGE:
        done = failed.demeanor("fork", TRIAL, *words)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    assert not Path(failed.folder, "results/forks").exists()


def test_a_trial_of_another_scenario_is_refused(failed: Project):
    """Its agent would not do the same again; and a scan needs a trial that failed."""
    changed = EVAL.replace("Write the four files.", "Write all files.")
    failed.write(evals__eval_files_py=changed)
    done = failed.demeanor("fork", TRIAL, "--at", "2")
    assert done.returncode == 2
    assert "the scenario of its eval has changed since (prompt)" in done.stderr
    assert failed.demeanor("run", "--policy", "all", "--trials", "1", "--subject", "native:careful").returncode == 0
    done = failed.demeanor("fork", "--scan")
    assert done.returncode == 2
    assert "its verdict is pass" in done.stderr
