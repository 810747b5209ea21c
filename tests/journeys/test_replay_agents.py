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


def record_goose(project: Project, *words: str) -> None:
    """Record trials of goose."""
    program = installed("goose")
    project.write(evals__eval_note_py=EVAL)
    project.write(demeanor_toml=GOOSE_CONFIG.format(goose=program, word="careful"))
    ran = project.demeanor("run", "--record", "--jobs", "3", *words)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_goose_replays_with_other_folders_on_another_day(project: Project):
    """The cassettes' dates are moved by years; the trajectories are the same, and there is no model."""
    record_goose(project)
    before = trajectories(latest(project))
    for file in (project.folder / CASSETTES).rglob("*.json"):
        text, moved = re.subn(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "2019-03-04 05:06:07", file.read_text())
        assert moved
        assert str(project.folder.parent) not in text
        file.write_text(text)
    assert len(before) == 3
    assert replayed_elsewhere(project) == before


def test_a_changed_word_in_what_goose_sends_is_a_miss(project: Project):
    """In its system prompt, or in the description of a tool, as if another version of the agent had been recorded."""
    record_goose(project, "--trials", "1")
    toml = project.folder / "demeanor.toml"
    toml.write_text(toml.read_text().replace("careful", "careless"))
    said = missed(project)
    assert re.search(r"first difference is at messages\[0\]\.parts\[0\]\.text", said), said
    assert re.search(r"recorded: .*careful.*\n +asked: .*careless", said), said
    toml.write_text(toml.read_text().replace("careless", "careful"))
    for file in (project.folder / CASSETTES).rglob("*.json"):
        data = json.loads(file.read_text())
        data["exchanges"][0]["request"]["tools"][0]["description"] += " Carefully."
        file.write_text(json.dumps(data))
    said = missed(project)
    assert re.search(r"first difference is at tools\.\w+\.description", said), said
    assert re.search(r"recorded: .* Carefully\.", said), said


def missed(project: Project) -> str:
    """What the report of a replay says in which an exchange was not found."""
    ran = project.demeanor("run", "--replay", "--trials", "1", COLUMNS="200")
    assert ran.returncode == 3, ran.stdout
    return ran.stdout


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
