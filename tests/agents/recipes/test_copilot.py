"""GitHub Copilot CLI: how it is started, and how its session file is read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given

from tests.agents.helpers import BASE_URL, NO_SHELL, PRIOR, agent, broken_lines, end, home_json, outline, sample, task

LOG = ".copilot/session-state/1/events.jsonl"


@pytest.mark.parametrize(
    ("dialect", "kind", "wire", "path"),
    [
        ("openai-chat", "openai", "completions", "/v1"),
        ("openai-responses", "openai", "responses", "/v1"),
        ("anthropic", "anthropic", "completions", ""),
    ],
)
def test_it_runs_offline_with_the_gateway_as_its_provider(dialect: str, kind: str, wire: str, path: str):
    """So it needs no login."""
    (launch,) = agent("copilot", dialect=dialect).orders(task("-x")).launches
    provider = {name: launch.env[f"COPILOT_PROVIDER_{name}"] for name in ("TYPE", "WIRE_API", "BASE_URL", "API_KEY")}
    assert list(provider.values()) == [kind, wire, f"{BASE_URL}{path}", "demeanor-token"]
    assert launch.env["COPILOT_OFFLINE"] == "true"
    assert launch.argv[-1] == "--prompt=-x"


def test_it_is_unpacked_once_for_all_trials(tmp_path: Path):
    """The installation contains the unpacked program; another installation unpacks itself in each trial."""
    program = tmp_path / "node_modules/@github/copilot-linux-x64/copilot"
    unpacked = tmp_path / "cache/copilot/pkg/linux-x64/1.0.102"
    unpacked.mkdir(parents=True)
    (launch,) = agent("copilot", program=str(program)).orders(task()).launches
    assert launch.env["COPILOT_CLI_DIST_DIR"] == str(unpacked)
    (launch,) = agent("copilot").orders(task()).launches
    assert "COPILOT_CLI_DIST_DIR" not in launch.env


def test_all_prompts_are_in_one_session():
    """Its id depends on the seed only."""
    first, second = agent("copilot").orders(task("One.", "Two.")).launches
    assert first.argv[:-1] == second.argv[:-1]
    assert "--session-id" in first.argv


def test_a_hook_denies_tools():
    """The model sees the tool and gets the refusal as its result."""
    orders = agent("copilot").orders(task(approval=NO_SHELL))
    (hook,) = home_json(orders, ".copilot/settings.json")["hooks"]["preToolUse"]
    assert "bash" in hook["matcher"]
    assert "create" not in hook["matcher"]
    assert '"permissionDecision": "deny"' in hook["bash"]


def test_prior_messages_are_a_session_but_are_not_events():
    """Every id is a UUID, otherwise the session could not be loaded."""
    orders = agent("copilot").orders(task(messages=PRIOR))
    (path,) = orders.leavings
    lines = [json.loads(line) for line in orders.home_files[path].splitlines()]
    assert [line["type"] for line in lines] == ["session.start", "user.message", "assistant.message"]
    assert [line["parentId"] for line in lines] == [None, *(line["id"] for line in lines[:-1])]
    assert all(len(line["id"]) == 36 for line in lines)
    assert lines[0]["data"]["sessionId"] in path
    assert agent("copilot").read_log((end(),), {path: orders.home_files[path]}) == ()


def test_its_session_is_read():
    """Recorded with a file that does not exist."""
    events = agent("copilot").read_log((end("{}"),), {LOG: sample("copilot.jsonl").encode()})
    assert outline(events) == [
        (1, "view", {"path": "missing.txt"}, False),
        (2, "create", {"path": "report.txt", "file_text": "missing.txt is not there\n"}, True),
        (3, "said", "missing.txt is not there; I noted it in report.txt."),
    ]


@given(broken_lines(sample("copilot.jsonl")))
def test_a_broken_session_does_not_crash_the_reader(lines: str):
    """Random changes of real lines."""
    agent("copilot").read_log((end(),), {LOG: lines.encode()})
