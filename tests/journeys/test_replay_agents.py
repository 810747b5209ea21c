"""Agents from npm, recorded and replayed with another workspace, HOME, temp folder and date."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.installed_agents import installed
from tests.helpers.project import Project
from tests.journeys.test_replay import CASSETTES, latest, other_folders, trajectories

pytestmark = pytest.mark.agents

EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Save the note 'buy milk' in notes.txt.")
def saves_the_note(rig, result):
    assert "buy milk" in rig.workspace["notes.txt"].text
"""
GOOSE_CONFIG = """\
subjects = ["goose:scripted"]
attempts = 1
[agents.goose]
adapter = "command"
command = [
  "{goose}", "run", "-q", "--no-session", "--no-profile", "--with-builtin", "developer",
  "--output-format", "stream-json", "--system", "Be a {word} agent.", "-t", "{{prompt}}",
]
dialect = "anthropic"
[agents.goose.env]
GOOSE_PROVIDER = "anthropic"
GOOSE_MODEL = "scripted"
ANTHROPIC_HOST = "{{base_url}}"
ANTHROPIC_API_KEY = "{{token}}"
GOOSE_MODE = "auto"
GOOSE_DISABLE_KEYRING = "1"
GOOSE_TELEMETRY_OFF = "1"
GOOSE_DISABLE_SESSION_NAMING = "true"
GOOSE_PROVIDER_SKIP_BACKOFF = "true"
XDG_CONFIG_HOME = "{{home}}/.config"
XDG_DATA_HOME = "{{home}}/.data"
XDG_STATE_HOME = "{{home}}/.state"
"""
PI_CONFIG = """\
subjects = ["pi:scripted"]
attempts = 1
[agents.pi]
adapter = "command"
command = ["sh", "{start}", "{pi}", "{{prompt}}"]
dialect = "openai-chat"
pass_env = ["NODE_OPTIONS"]
reads = ["{modules}", "{clock}"]
[agents.pi.env]
GATEWAY = "{{base_url}}"
TOKEN = "{{token}}"
PI_CODING_AGENT_DIR = "{{home}}/.pi"
PI_OFFLINE = "1"
PI_TELEMETRY = "0"
"""
PI_START = """\
set -e
mkdir -p "$PI_CODING_AGENT_DIR"
cat > "$PI_CODING_AGENT_DIR/models.json" <<END
{"providers": {"loop": {
  "baseUrl": "$GATEWAY/v1", "api": "openai-completions", "apiKey": "$TOKEN",
  "models": [{"id": "scripted", "name": "scripted", "reasoning": false, "input": ["text"],
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}, "contextWindow": 128000, "maxTokens": 8192}]
}}}
END
exec "$1" -p --mode json --no-session --provider loop --model scripted "$2"
"""
CLOCK = """\
const Real = Date, ahead = 400 * 86400000;
globalThis.Date = class extends Real {
  constructor(...given) { given.length ? super(...given) : super(Real.now() + ahead); }
  static now() { return Real.now() + ahead; }
};
"""


def replayed_elsewhere(project: Project, **env: str) -> dict[str, Any]:
    """Replay three trials at once with other folders: all of them pass, and no model is called."""
    ran = project.demeanor("run", "--replay", "--jobs", "3", **other_folders(project), **env)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "replayed from" in ran.stdout
    return trajectories(latest(project))


@pytest.fixture
def goose(project: Project) -> Project:
    """A project with three recorded trials of goose."""
    program = installed("goose")
    project.write(evals__eval_note_py=EVAL)
    project.write(demeanor_toml=GOOSE_CONFIG.format(goose=program, word="careful"))
    ran = project.demeanor("run", "--record", "--jobs", "3")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return project


def test_goose_replays_with_other_folders_on_another_day(goose: Project):
    """The cassettes' dates are moved by years; the trajectories are the same, and there is no model."""
    before = trajectories(latest(goose))
    for file in (goose.folder / CASSETTES).rglob("*.json"):
        text, moved = re.subn(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2019-03-04 05:06:07", file.read_text())
        assert moved
        assert str(goose.folder.parent) not in text
        file.write_text(text)
    assert len(before) == 3
    assert replayed_elsewhere(goose) == before


def test_a_changed_word_in_gooses_system_prompt_is_a_miss(goose: Project):
    """The agent sends another prompt; the difference is shown, and the agent ends at once."""
    config = (goose.folder / "demeanor.toml").read_text()
    (goose.folder / "demeanor.toml").write_text(config.replace("careful", "careless"))
    ran = goose.demeanor("run", "--replay", "--jobs", "3", COLUMNS="200")
    assert ran.returncode == 3, ran.stdout
    assert re.search(r"first difference is at messages\[0\]\.parts\[0\]\.text", ran.stdout)
    assert re.search(r"recorded: .*careful.*\n +asked: .*careless", ran.stdout), ran.stdout


def test_a_changed_word_in_a_tool_of_goose_is_a_miss(goose: Project):
    """As if another version of the agent had been recorded."""
    for file in (goose.folder / CASSETTES).rglob("*.json"):
        data = json.loads(file.read_text())
        data["exchanges"][0]["request"]["tools"][0]["description"] += " Carefully."
        file.write_text(json.dumps(data))
    ran = goose.demeanor("run", "--replay", "--jobs", "3", COLUMNS="200")
    assert ran.returncode == 3, ran.stdout
    assert re.search(r"first difference is at tools\.\w+\.description", ran.stdout), ran.stdout
    assert re.search(r"recorded: .* Carefully\.", ran.stdout), ran.stdout


def test_pi_replays_with_its_clock_400_days_ahead(project: Project, tmp_path: Path):
    """The program itself sees another date, and puts it in its prompt."""
    start, clock = tmp_path / "start.sh", tmp_path / "clock.cjs"
    start.write_text(PI_START)
    clock.write_text(CLOCK)
    program = installed("pi")
    modules = next(parent for parent in program.parents if parent.name == "node_modules")
    project.write(
        evals__eval_note_py=EVAL,
        demeanor_toml=PI_CONFIG.format(start=start, pi=program, modules=modules, clock=clock),
    )
    ran = project.demeanor("run", "--record", "--jobs", "3")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    before = trajectories(latest(project))
    assert len(before) == 3
    assert replayed_elsewhere(project, NODE_OPTIONS=f"--require {clock}") == before
