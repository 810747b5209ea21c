"""Continue: how it is started, and how its session file is read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from demeanor.core.values.agent import Ability
from tests.agents.helpers import BASE_URL, PRIOR, agent, broken_lines, end, home_json, outline, sample, task

SESSION = ".continue/sessions/demeanor.json"


def test_the_prompt_is_never_an_option_and_the_key_is_in_a_file():
    """Arguments are visible in the process list."""
    orders = agent("continue", dialect="anthropic").orders(task("-x"))
    (launch,) = orders.launches
    assert launch.argv[-2:] == ("--", "-x")
    (model,) = home_json(orders, ".continue/demeanor.yaml")["models"]
    assert (model["provider"], model["apiBase"], model["apiKey"]) == ("anthropic", f"{BASE_URL}/v1", "demeanor-token")
    assert not any("demeanor-token" in word for word in launch.argv)


def test_later_prompts_resume_the_session():
    """It has the id of the first one."""
    first, second = agent("continue").orders(task("One.", "Two.")).launches
    assert ("--resume" in first.argv, "--resume" in second.argv) == (False, True)
    assert first.env["CONTINUE_CLI_TEST_SESSION_ID"] == second.env["CONTINUE_CLI_TEST_SESSION_ID"] == "demeanor"


def test_prior_messages_are_in_the_session_but_are_not_events():
    """They are marked."""
    orders = agent("continue").orders(task(messages=PRIOR))
    history = home_json(orders, SESSION)["history"]
    assert [item["message"]["content"] for item in history] == ["My name is Zebra.", "Hello."]
    assert "--resume" in orders.launches[0].argv
    assert agent("continue").read_log((end(),), dict(orders.home_files)) == ()


def test_its_session_is_read():
    """Recorded with a file that does not exist."""
    events = agent("continue").read_log((end("Its answer."),), {SESSION: sample("continue.json").encode()})
    assert outline(events) == [
        (1, "Read", {"filepath": "missing.txt"}, False),
        (2, "Write", {"filepath": "report.txt", "content": "missing.txt is not there\n"}, True),
        (3, "said", "missing.txt is not there; I noted it in report.txt."),
    ]


@given(broken_lines(sample("continue.json")))
def test_a_broken_session_does_not_crash_the_reader(lines: str):
    """Random changes of a real session."""
    for line in lines.splitlines():
        try:
            agent("continue").read_log((end(),), {SESSION: line.encode()})
        except ValueError:
            continue  # it is not JSON


def test_a_session_that_is_nested_too_deeply_is_an_unreadable_log():
    """Python's JSON reader would raise RecursionError."""
    with pytest.raises(ValueError, match="nested too deeply"):
        agent("continue").read_log((end(),), {SESSION: b'{"history":' + b"[" * 100_000})


def test_unsupported_abilities():
    """A denied tool would be hidden from the model, and a stream that breaks off counts as complete."""
    assert set(agent("continue").cannot) == {Ability.DENY, Ability.CUT, Ability.EXIT_CODE, Ability.SUB_AGENTS}


def test_settings_are_merged_into_its_file():
    """For example MCP servers."""
    orders = agent("continue", settings={"mcpServers": [{"name": "x"}]}).orders(task())
    assert json.loads(orders.home_files[".continue/demeanor.yaml"])["mcpServers"] == [{"name": "x"}]
