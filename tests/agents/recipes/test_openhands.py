"""OpenHands: how it is started, and how its events are read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from demeanor.core.values.agent import Ability
from tests.agents.helpers import (
    BASE_URL,
    NO_EDITS,
    NO_SHELL,
    agent,
    broken_lines,
    end,
    home_json,
    outline,
    sample,
    task,
)

FOLDER = ".openhands/conversations/1/events"


def files(lines: str) -> dict[str, bytes]:
    """One file per event, as it writes them."""
    return {f"{FOLDER}/event-{number:05}-x.json": line.encode() for number, line in enumerate(lines.splitlines())}


def test_the_key_is_in_an_environment_variable():
    """The model and its retries are in its settings."""
    orders = agent("openhands", retries=5, settings={"llm": {"temperature": 0}}).orders(task("-x"))
    model = home_json(orders, ".openhands/agent_settings.json")["llm"]
    assert (model["model"], model["base_url"], model["temperature"]) == ("openai/large", f"{BASE_URL}/v1", 0)
    assert model["num_retries"] == 6
    (launch,) = orders.launches
    assert launch.env["LLM_API_KEY"] == "demeanor-token"
    assert launch.argv[-1] == "--task=-x"


def test_it_neither_clones_nor_shares_a_terminal():
    """It would clone a repository, and use a terminal server in the machine's temporary folder."""
    (launch,) = agent("openhands").orders(task()).launches
    assert launch.env["GIT_ALLOW_PROTOCOL"] == "file"
    assert launch.env["TMUX_TMPDIR"] == "/bench/home"


def test_all_prompts_are_in_one_conversation():
    """The first one starts it, because it does not exist yet."""
    orders = agent("openhands").orders(task("One.", "Two."))
    first, second = (next(word for word in launch.argv if "--resume=" in word) for launch in orders.launches)
    assert first == second
    assert first.removeprefix("--resume=").replace("-", "") in orders.leavings[0]


@pytest.mark.parametrize(("approval", "tools"), [(NO_SHELL, "(terminal)"), (NO_EDITS, "(file_editor)")])
def test_a_hook_denies_tools(approval, tools: str):
    """The exit code 2 blocks a call."""
    orders = agent("openhands").orders(task(approval=approval))
    (rule,) = home_json(orders, ".openhands/hooks.json")["pre_tool_use"]
    assert rule["matcher"] == tools
    assert rule["hooks"][0]["command"].endswith("exit 2")


def test_its_events_are_read():
    """Recorded with relative paths, which its editor does not accept."""
    events = agent("openhands").read_log((end("Agent finished"),), files(sample("openhands.jsonl")))
    assert [entry[:2] for entry in outline(events)] == [(1, "file_editor"), (2, "file_editor"), (3, "said")]
    assert [entry[-1] for entry in outline(events)[:2]] == [False, False]
    assert outline(events)[2][2] == "missing.txt is not there; I noted it in report.txt."


def test_calls_of_one_answer_are_one_turn_and_the_message_of_finish_is_its_answer():
    """They have the id of the answer."""
    call = {"kind": "ActionEvent", "llm_response_id": "r1", "tool_name": "terminal", "tool_call_id": "a"}
    finish = {**call, "tool_name": "finish", "tool_call_id": "b", "tool_call": {"arguments": '{"message": "Done."}'}}
    error = {"kind": "AgentErrorEvent", "tool_call_id": "a", "error": "no such tool"}
    lines = "\n".join(map(json.dumps, (call, finish, error)))
    assert outline(agent("openhands").read_log((end(),), files(lines))) == [
        (1, "terminal", {}, False),
        (1, "finish", {"message": "Done."}, None),
        (1, "said", "Done."),
    ]


@given(broken_lines(sample("openhands.jsonl")))
def test_broken_events_do_not_crash_the_reader(lines: str):
    """Random changes of real events."""
    try:
        agent("openhands").read_log((end(),), files(lines))
    except ValueError:
        return  # it is not JSON


def test_an_event_that_is_nested_too_deeply_is_an_unreadable_log():
    """Python's JSON reader would raise RecursionError."""
    with pytest.raises(ValueError, match="nested too deeply"):
        agent("openhands").read_log((end(),), files("[" * 100_000))


def test_exit_code_0_proves_nothing():
    """It exits with 0 even if every request failed."""
    assert agent("openhands").exit_ok(end()) is None
    assert agent("openhands").exit_ok(end(exit_code=1)) is False
    assert set(agent("openhands").cannot) == {Ability.MESSAGES}
