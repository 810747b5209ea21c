"""pi: how it is started, and how its session file is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.agents.helpers import BASE_URL, NO_SHELL, PRIOR, agent, broken_lines, end, home_json, outline, sample, task

SESSION = ".pi/demeanor.jsonl"


@pytest.mark.parametrize(
    ("dialect", "api", "path"),
    [
        ("openai-chat", "openai-completions", "/v1"),
        ("openai-responses", "openai-responses", "/v1"),
        ("anthropic", "anthropic-messages", ""),
        ("gemini", "google-generative-ai", "/v1beta"),
    ],
)
def test_it_speaks_four_dialects(dialect: str, api: str, path: str):
    """The key is in an environment variable, not in the file."""
    orders = agent("pi", dialect=dialect).orders(task())
    provider = home_json(orders, ".pi/agent/models.json")["providers"]["demeanor"]
    assert (provider["api"], provider["baseUrl"]) == (api, f"{BASE_URL}{path}")
    assert orders.launches[0].env[provider["apiKey"]] == "demeanor-token"


def test_retries_do_not_multiply():
    """The retries of its SDK are off."""
    orders = agent("pi", retries=5, settings={"retry": {"baseDelayMs": 9}}).orders(task())
    retry = home_json(orders, ".pi/agent/settings.json")["retry"]
    assert retry == {"enabled": True, "maxRetries": 5, "provider": {"maxRetries": 0}, "baseDelayMs": 9}


@pytest.mark.parametrize("prompt", ["-p", "@file", "/quit"])
def test_a_prompt_is_never_an_option_a_file_or_a_command(prompt: str):
    """It gets a leading space."""
    assert agent("pi").orders(task(prompt)).launches[0].argv[-1] == f" {prompt}"


def test_prior_messages_are_in_the_session_file_but_are_not_events():
    """The file is outside pi's own folder, because pi would move it out of there."""
    orders = agent("pi").orders(task("One.", "Two.", messages=PRIOR))
    lines = [json.loads(line) for line in orders.home_files[SESSION].splitlines()]
    assert [line["type"] for line in lines] == ["session", "message", "message"]
    assert lines[2]["parentId"] == lines[1]["id"]
    assert all(f"/bench/home/{SESSION}" in launch.argv for launch in orders.launches)
    assert agent("pi").read_log((end(),), {SESSION: orders.home_files[SESSION]}) == ()


def test_a_denial_is_an_extension_that_blocks():
    """Other tools are not affected."""
    orders = agent("pi").orders(task(approval=NO_SHELL))
    assert b'new Set(["bash"])' in orders.home_files[".pi/agent/gate.js"]
    assert "/bench/home/.pi/agent/gate.js" in orders.launches[0].argv


def test_its_session_file_is_read():
    """Recorded with two launches in one session."""
    events = agent("pi").read_log((end(), end()), {SESSION: sample("pi.jsonl").encode()})
    assert outline(events)[:4] == [
        (1, "thought", "Let me think about it."),
        (1, "write", {"path": "hello.txt", "content": "Hello!\n"}, True),
        (2, "thought", "Now I am done."),
        (2, "said", "Thought."),
    ]
    assert outline(events)[4] == (3, "read", {"path": "missing.txt"}, False)


@given(broken_lines(sample("pi.jsonl")))
def test_a_broken_session_file_does_not_crash_the_reader(log: str):
    """Random changes of real lines."""
    agent("pi").read_log((end(),), {SESSION: log.encode(errors="replace")})
