"""A run is recorded and replayed elsewhere: same verdicts, same trajectories, no model."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from demeanor.agents.recipes.goose import RECIPE as GOOSE
from tests.helpers.project import Project

EVALS = """\
from demeanor import ALWAYS_PASSES, USUALLY_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text

@eval_test(USUALLY_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_it_elsewhere(rig, result):
    assert "other.txt" in rig.workspace
"""
LIVE = """\
subjects = ["native:large"]
attempts = 1
[models.large]
script = "large.yaml"
"""
SCRIPT = """\
rules:
  - turns:
      - call:
          tool: shell
          arguments:
            command: "date; pwd; echo 'buy milk' > notes.txt; ls -la; mktemp -d; date '+took %N ms'"
      - say: "Saved."
"""
BROKEN = "def play(turn):\n    raise RuntimeError('down')\n"
CASSETTES = "evals/cassettes"


def trajectories(run: Path) -> dict[str, Any]:
    """The events of each trial's last attempt, without times and tool results, which differ in each run.

    A cassette holds the attempt that was judged; one that was void before it (a slow machine) is not replayed.
    """
    found: dict[str, Any] = {}
    for record in map(json.loads, (run / "ledger.jsonl").read_text().splitlines()):
        path = run / record["folder"] / "trajectory.jsonl"
        events = [json.loads(line) for line in path.read_text().splitlines()]
        found[f"{record['eval']}/{record['subject']}/{record['number']}"] = [
            {key: value for key, value in event.items() if key not in {"seconds", "at", "result"}} for event in events
        ]
    return found


def other_folders(project: Project) -> dict[str, str]:
    """Another HOME and temp folder."""
    for name in ("other-home", "other-tmp"):
        (project.folder.parent / name).mkdir(exist_ok=True)
    return {"HOME": str(project.folder.parent / "other-home"), "TMPDIR": str(project.folder.parent / "other-tmp")}


def latest(project: Project) -> Path:
    """The newest run."""
    return (project.folder / "results/latest").resolve()


@pytest.fixture(scope="module")
def shared_recording(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with recorded trials of two evals, three each."""
    project = Project(tmp_path_factory.mktemp("recorded") / "project")
    project.write(demeanor_toml=LIVE, evals__eval_notes_py=EVALS, large_yaml=SCRIPT)
    ran = project.demeanor("run", "--record", "--policy", "all", "--jobs", "3")
    assert "recorded in evals/cassettes" in ran.stdout, ran.stdout + ran.stderr
    return project


@pytest.fixture
def recorded(shared_recording: Project, tmp_path: Path) -> Project:
    """A copy of it."""
    return shared_recording.copy_to(tmp_path / "project")


def test_a_replay_elsewhere_has_the_same_trajectories_without_the_model(recorded: Project):
    """Three trials at once; the model is no longer configured, and nothing is spent."""
    run = latest(recorded)
    before = trajectories(run)
    recorded.write(demeanor_toml='subjects = ["native:large"]\nattempts = 1\n')
    (recorded.folder / "large.yaml").unlink()
    assert recorded.demeanor("run").returncode == 2
    ran = recorded.demeanor("run", "--replay", "--policy", "all", "--jobs", "3", **other_folders(recorded))
    assert "replayed from evals/cassettes: no model was asked, nothing was spent" in ran.stdout, ran.stdout + ran.stderr
    after = trajectories(latest(recorded))
    assert latest(recorded) != run
    assert len(before) == 6
    assert after == before
    assert "3 passed · 3 failed" in ran.stdout, ran.stdout


def test_a_replay_changes_no_cassette_and_has_the_same_result_every_time(shared_recording: Project, recorded: Project):
    """Cassettes are only read."""
    files = {path: path.read_bytes() for path in (recorded.folder / CASSETTES).rglob("*.json")}
    assert len(files) == 6
    codes = [recorded.demeanor("run", "--replay", "--policy", "all", "--trials", "1").returncode for _ in range(2)]
    assert codes == [1, 1]
    assert {path: path.read_bytes() for path in (recorded.folder / CASSETTES).rglob("*.json")} == files
    assert not [path for path, text in files.items() if str(shared_recording.folder.parent).encode() in text]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("You are a coding agent", "You are a careful agent", r"messages\[0\]\.parts\[0\]\.text"),
        ("Read a text file.", "Read any text file.", r"tools\.read_file\.description"),
    ],
)
def test_a_changed_word_is_a_miss_with_a_readable_difference(recorded: Project, old: str, new: str, path: str):
    """The trial is void, and both values are shown."""
    for file in (recorded.folder / CASSETTES).rglob("*.json"):
        file.write_text(file.read_text().replace(old, new))
    ran = recorded.demeanor("run", "--replay", "--trials", "1", COLUMNS="200")
    assert ran.returncode == 3, ran.stdout
    assert re.search(f"the first difference is at {path}", ran.stdout), ran.stdout
    assert re.search(f"recorded: .*{new}.*\n +asked: +.*{old}", ran.stdout), ran.stdout


def test_absent_unreadable_and_unmatched_are_three_different_voids(recorded: Project):
    """Each error names the file and the problem."""
    folder = recorded.folder / CASSETTES / "saves_the_note/native-large"
    (folder / "trial-1.json").unlink()
    (folder / "trial-2.json").write_text("<<<<<<< HEAD")
    (folder / "trial-3.json").write_text((folder / "trial-3.json").read_text().replace("buy milk", "buy bread"))
    ran = recorded.demeanor("run", "--replay", "--policy", "always", COLUMNS="300")
    assert ran.returncode == 3, ran.stdout
    for message in (
        "trial-1.json: there is no cassette for",
        "trial-2.json: can't be read: it is not valid JSON",
        "trial-3.json: none of its exchanges (2) matches this request",
    ):
        assert f"void(cassette): {CASSETTES}/saves_the_note/native-large/{message}" in ran.stdout


def test_a_void_trial_does_not_replace_a_recording(recorded: Project):
    """Only judged trials are recorded."""
    files = {path: path.read_bytes() for path in (recorded.folder / CASSETTES).rglob("*.json")}
    recorded.write(large_py=BROKEN, demeanor_toml=LIVE.replace("large.yaml", "large.py"))
    ran = recorded.demeanor("run", "--record", "--trials", "1")
    assert ran.returncode == 3, ran.stdout
    assert "nothing was recorded in evals/cassettes" in ran.stdout
    assert {path: path.read_bytes() for path in (recorded.folder / CASSETTES).rglob("*.json")} == files


def test_a_folder_that_cant_be_written_is_refused_before_anything_runs(project: Project):
    """It is below a file."""
    project.write(demeanor_toml=LIVE, evals__eval_notes_py=EVALS, large_yaml=SCRIPT, taken_txt="")
    ran = project.demeanor("run", "--record=taken.txt/cassettes")
    assert ran.returncode == 2, ran.stdout + ran.stderr
    assert "no cassette can be written here" in ran.stderr
    assert not (project.folder / "results").exists()


def test_validate_warns_about_orphaned_and_stale_cassettes(recorded: Project):
    """A missing eval, one trial too many, a changed prompt."""
    recorded.write(evals__eval_notes_py=EVALS.replace("saves_it_elsewhere", "saves_it_nowhere"))
    assert "stale" not in recorded.demeanor("validate").stdout
    changed = EVALS.replace("saves_it_elsewhere", "saves_it_nowhere").replace("'buy milk' in notes.txt", "'x' in y")
    recorded.write(evals__eval_notes_py=changed, demeanor_toml="trials = 2\n" + LIVE)
    output = recorded.demeanor("validate").stdout
    place = f"warning: {CASSETTES}/saves_the_note/native-large"
    assert f"{place}/trial-1.json: stale: the scenario of 'saves_the_note' has changed" in output
    assert f"{place}/trial-3.json: orphaned: 'saves_the_note' has 2 trials, and this is number 3" in output
    assert f"{CASSETTES}/saves_it_elsewhere/native-large/trial-1.json: orphaned: there is no eval" in output
    data = json.loads(recorded.demeanor("validate", "--json").stdout)
    assert len(data["cassettes"]) == 6


def test_an_eval_path_after_the_option_is_an_error(recorded: Project):
    """`--replay evals` would replay from a folder without cassettes."""
    for path in ("evals", "evals/eval_notes.py"):
        ran = recorded.demeanor("run", "--replay", path)
        assert ran.returncode == 2
        assert "put the paths of evals first (demeanor run PATH --replay)" in ran.stderr
    ran = recorded.demeanor("run", "--replay", "nowhere")
    assert ran.returncode == 2
    assert "there is no such folder" in ran.stderr


def test_a_project_can_add_rules(recorded: Project):
    """A word that changes from build to build is replaced by a pattern."""
    for file in (recorded.folder / CASSETTES).rglob("*.json"):
        file.write_text(file.read_text().replace("You are a coding agent", "You are build 17"))
    rule = "[replay]\nreplace = [{ pattern = 'You are (build \\d+|a coding agent)', with = 'You are it' }]\n"
    recorded.write(demeanor_toml=LIVE + rule)
    ran = recorded.demeanor("run", "--replay", "--policy", "always", "--trials", "1")
    assert ran.returncode == 0, ran.stdout
    recorded.write(demeanor_toml=LIVE + rule.replace("\\d+|", "\\d+|("))
    ran = recorded.demeanor("run", "--replay")
    assert ran.returncode == 2
    assert "replay.replace[0].pattern" in ran.stderr


AGENT = """\
#!{python}
import json, os, sys, urllib.request

body = {{
    "model": "scripted",
    "messages": [
        {{"role": "system", "content": "Skills are in " + os.path.dirname(os.path.realpath(__file__)) + "/skills."}},
        {{"role": "user", "content": sys.argv[-1]}},
    ],
}}
request = urllib.request.Request(
    os.environ["OPENAI_HOST"] + "/" + os.environ["OPENAI_BASE_PATH"], json.dumps(body).encode(),
    {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "Content-Type": "application/json"}})
urllib.request.urlopen(request).read()
"""
ANSWERS = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Hi.")
def answers(rig, result):
    assert result
"""


def test_a_replay_finds_the_agent_installed_in_another_folder(project: Project, tmp_path: Path):
    """Gemini CLI, for example, tells its model where its skills are; the machine that replays has them elsewhere."""
    project.write(evals__eval_answers_py=ANSWERS, demeanor_toml='subjects = ["goose:scripted"]\nattempts = 1\n')
    package = GOOSE.package
    for folder, option in (("one", "--record"), ("another/place", "--replay")):
        program = package.program_in(tmp_path / folder / "goose" / package.version)
        program.parent.mkdir(parents=True)
        program.write_text(AGENT.format(python=sys.executable))
        program.chmod(0o755)
        ran = project.demeanor("run", option, "--trials", "1", DEMEANOR_AGENTS=str(tmp_path / folder))
        assert ran.returncode == 0, ran.stdout + ran.stderr
    (cassette,) = (project.folder / CASSETTES).rglob("*.json")
    assert "Skills are in {{demeanor:agent}}/" in cassette.read_text()
    assert str(tmp_path) not in cassette.read_text()
    first, second = (
        json.loads(line)["prompt_hash"]
        for run in sorted((project.folder / "results").glob("2*"))
        for line in (run / "ledger.jsonl").read_text().splitlines()
    )
    assert first == second, "another installation folder is no other prompt"
