"""Verbose logs of agents, switched on for a run and kept with its trials."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.agents.registry import CODING_AGENTS, make_agent
from demeanor.config.table import Table
from demeanor.core.values.agent import DEBUG_LOG, Task
from tests.helpers.project import Project

EVALS = """\
from demeanor import USUALLY_PASSES, eval_test

@eval_test(USUALLY_PASSES, prompt="write")
def writes(rig, result):
    assert rig.workspace["a.txt"].text == "1"
"""
CONFIG = """\
subjects = ["mine"]
trials = 1
[agents.mine]
adapter = "command"
command = ["sh", "-c", "echo -n 1 >a.txt;test -z $DEMEANOR_AGENT_DEBUG || echo key $KEY >~/agent-debug.log", "{prompt}"]
pass_env = ["KEY"]
"""
SECRET = "sk-ant-api03-0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"
SWITCHES = {
    "aider": "AIDER_LLM_HISTORY_FILE",
    "claude-code": "--debug-file",
    "codex": "RUST_LOG",
    "gemini-cli": "GEMINI_DEBUG_LOG_FILE",
    "goose": "RUST_LOG",
    "opencode": "--log-level",
    "qwen-code": "QWEN_DEBUG_LOG_FILE",
}


@pytest.fixture
def debugged(project: Project) -> Project:
    project.write(evals__eval_writes_py=EVALS, demeanor_toml=CONFIG)
    return project


def logs(project: Project) -> list[Path]:
    return list((project.folder / "results/latest").glob(f"writes/mine/trial-1/logs/{DEBUG_LOG}"))


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_the_log_is_kept_with_the_trial_and_without_secrets(debugged: Project, sandbox: str) -> None:
    words = ("run", "evals", "--sandbox", sandbox)
    assert debugged.demeanor(*words, KEY=SECRET).returncode == 0
    assert logs(debugged) == []
    ran = debugged.demeanor(*words, KEY=SECRET, DEMEANOR_AGENT_DEBUG="1")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    (log,) = logs(debugged)
    assert log.read_text().startswith("key ‹redacted")
    everything = b"".join(path.read_bytes() for path in (debugged.folder / "results").rglob("*") if path.is_file())
    assert SECRET.encode() not in everything


@pytest.mark.parametrize("name", CODING_AGENTS)
def test_each_agent_has_its_own_switch_or_none(tmp_path: Path, name: str) -> None:
    """The other agents get only the variable DEMEANOR_AGENT_DEBUG; the docs say so."""
    agent = make_agent(name, name, Table({"program": "/bin/true"}, where="test", prefix=f"agents.{name}."))
    task = Task(
        prompts=("Hello",), model="m", workspace=tmp_path, home=tmp_path / "home", base_url="http://127.0.0.1:1",
        token="t", seed=1,
    )  # fmt: skip

    def words(*, debug: bool) -> set[str]:
        launches = agent.orders(replace(task, debug=debug)).launches
        return {word for launch in launches for word in (*launch.argv, *launch.env)}

    more = words(debug=True) - words(debug=False)
    assert words(debug=False) <= words(debug=True)
    assert (SWITCHES.get(name) in more) if name in SWITCHES else not more
