"""Kimi Code: how it is started, and how its session files are read."""

from __future__ import annotations

import json
import tomllib

import pytest
from hypothesis import given

from tests.agents.helpers import BASE_URL, NO_SHELL, PRIOR, agent, broken_lines, end, outline, sample, task

LOG = ".kimi-code/sessions/wd_workspace_1/session_1/agents/main/wire.jsonl"


@pytest.mark.parametrize(
    ("dialect", "kind", "path"),
    [
        ("openai-chat", "openai", "/v1"),
        ("openai-responses", "openai_responses", "/v1"),
        ("anthropic", "anthropic", ""),
        ("gemini", "google-genai", ""),
    ],
)
def test_it_speaks_four_dialects(dialect: str, kind: str, path: str):
    """The key is in an environment variable, not in the file."""
    orders = agent("kimi-code", dialect=dialect).orders(task())
    config = tomllib.loads(orders.home_files[".kimi-code/config.toml"].decode())
    provider = config["providers"]["demeanor"]
    assert (provider["type"], provider["base_url"]) == (kind, f"{BASE_URL}{path}")
    assert orders.launches[0].env[provider["api_key_env"]] == "demeanor-token"
    assert config["telemetry"] is False
    assert config["loop_control"] == {"max_attempts_per_step": 3}
    assert "hooks" not in config


def test_a_hook_denies_tools():
    """The exit code 2 blocks a call; the model gets what the hook writes to standard error."""
    orders = agent("kimi-code").orders(task(approval=NO_SHELL))
    (hook,) = tomllib.loads(orders.home_files[".kimi-code/config.toml"].decode())["hooks"]
    assert (hook["event"], hook["matcher"]) == ("PreToolUse", "^(Bash)$")
    assert hook["command"].endswith(">&2; exit 2")


def test_later_prompts_continue_the_session():
    """The prompt is in one argument with its option, so a leading dash is harmless."""
    first, second = agent("kimi-code").orders(task("-x", "Two.")).launches
    assert "--continue" not in first.argv
    assert "--continue" in second.argv
    assert first.argv[-1] == "--prompt=-x"


def test_prior_messages_are_a_session_but_are_not_events():
    """The name of its folder contains a hash of the workspace's path."""
    orders = agent("kimi-code").orders(task("One.", "Two.", messages=PRIOR))
    index = json.loads(orders.home_files[".kimi-code/session_index.jsonl"])
    assert index["sessionDir"].startswith("/bench/home/.kimi-code/sessions/wd_workspace_")
    assert all(f"--session={index['sessionId']}" in launch.argv for launch in orders.launches)
    (path,) = (path for path in orders.home_files if path.endswith("wire.jsonl"))
    assert f"/bench/home/{path}".startswith(index["sessionDir"])
    assert b"My name is Zebra." in orders.home_files[path]
    assert agent("kimi-code").read_log((end(),), {path: orders.home_files[path]}) == ()


def test_its_session_is_read():
    """Recorded with two prompts: a file that does not exist, and reasoning."""
    events = agent("kimi-code").read_log((end("{}"),), {LOG: sample("kimi_code.jsonl").encode()})
    assert outline(events) == [
        (1, "Read", {"path": "missing.txt"}, False),
        (2, "Write", {"path": "report.txt", "content": "missing.txt is not there\n"}, True),
        (3, "said", "missing.txt is not there; I noted it in report.txt."),
        (4, "thought", "A file is wanted."),
        (4, "Write", {"path": "thought.txt", "content": "thought\n"}, True),
        (5, "thought", "It is written."),
        (5, "said", "I thought, and wrote thought.txt."),
    ]


@given(broken_lines(sample("kimi_code.jsonl")))
def test_a_broken_session_does_not_crash_the_reader(lines: str):
    """Random changes of real lines."""
    agent("kimi-code").read_log((end(),), {LOG: lines.encode()})
