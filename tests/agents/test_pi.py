"""pi: how it is started, and what its session file tells."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.agents.told import NO_SHELL, PRIOR, agent, end, hostile, in_file, outline, sample, task

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
    """The key is not in the file, but in a variable."""
    orders = agent("pi", dialect=dialect).orders(task())
    provider = in_file(orders, ".pi/agent/models.json")["providers"]["demeanor"]
    assert (provider["api"], provider["baseUrl"]) == (api, f"http://127.0.0.1:8/t/1{path}")
    assert orders.launches[0].env[provider["apiKey"]] == "hf-token"


def test_retries_are_counted_once():
    """Those of its SDK would multiply with its own."""
    orders = agent("pi", retries=5, settings={"retry": {"baseDelayMs": 9}}).orders(task())
    retry = in_file(orders, ".pi/agent/settings.json")["retry"]
    assert retry == {"enabled": True, "maxRetries": 5, "provider": {"maxRetries": 0}, "baseDelayMs": 9}


@pytest.mark.parametrize("prompt", ["-p", "@file", "/quit"])
def test_a_prompt_is_never_an_option_a_file_or_a_command(prompt: str):
    """A blank in front is the least that helps."""
    assert agent("pi").orders(task(prompt)).launches[0].argv[-1] == f" {prompt}"


def test_an_earlier_conversation_is_written_as_its_session_but_not_told_as_its_doing():
    """The session lies outside its own folder, from which it would be moved away."""
    orders = agent("pi").orders(task("One.", "Two.", messages=PRIOR))
    lines = [json.loads(line) for line in orders.home_files[SESSION].splitlines()]
    assert [line["type"] for line in lines] == ["session", "message", "message"]
    assert lines[2]["parentId"] == lines[1]["id"]
    assert all(f"/bench/home/{SESSION}" in launch.argv for launch in orders.launches)
    assert agent("pi").read_log((end(),), {SESSION: orders.home_files[SESSION]}) == ()


def test_a_denial_is_an_extension_that_blocks():
    """By tool; other tools are not touched."""
    orders = agent("pi").orders(task(approval=NO_SHELL))
    assert b'new Set(["bash"])' in orders.home_files[".pi/agent/gate.js"]
    assert "/bench/home/.pi/agent/gate.js" in orders.launches[0].argv


def test_its_session_tells_everything():
    """From two runs in one session."""
    events = agent("pi").read_log((end(), end()), {SESSION: sample("pi.jsonl").encode()})
    assert outline(events)[:4] == [
        (1, "thought", "Let me think about it."),
        (1, "write", {"path": "hello.txt", "content": "Hello!\n"}, True),
        (2, "thought", "Now I am done."),
        (2, "said", "Thought."),
    ]
    assert outline(events)[4] == (3, "read", {"path": "missing.txt"}, False)


@given(hostile(sample("pi.jsonl")))
def test_no_session_breaks_the_reader(log: str):
    """Whatever it writes."""
    agent("pi").read_log((end(),), {SESSION: log.encode(errors="replace")})
