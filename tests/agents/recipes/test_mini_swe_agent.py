"""mini-swe-agent: how it is started, and how its trajectory is read."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given

from demeanor.core.values.agent import Ability, prints_events
from demeanor.core.values.trajectory import Concluded
from tests.agents.helpers import BASE_URL, agent, broken_lines, end, home_json, outline, sample, task

TRAJECTORY = "trajectory.json"


def test_no_questions_and_no_downloads():
    """One retry is one request: the retries of its SDK are off."""
    orders = agent("mini-swe-agent", retries=3, settings={"agent": {"step_limit": 9}}).orders(task("-x"))
    (launch,) = orders.launches
    assert launch.argv[:3] == ("the-agent", "-y", "--exit-immediately")
    assert launch.argv[-1] == "--task=-x"
    assert launch.env["MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT"] == "4"
    assert launch.env["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
    assert launch.env["OPENAI_API_BASE"] == f"{BASE_URL}/v1"
    assert home_json(orders, ".config/mini-swe-agent/demeanor.yaml") == {
        "agent": {"cost_limit": 0, "step_limit": 9},
        "model": {"model_kwargs": {"max_retries": 0}},
    }


def test_its_trajectory_is_read_with_unusable_answers():
    """The command that ends the work is not executed, so it has no result."""
    leavings = {TRAJECTORY: sample("mini_swe_agent.json").encode()}
    assert outline(agent("mini-swe-agent").read_log((end(),), leavings)) == [
        (1, "bash", {}, None),
        (2, "thought", "Let me think about it."),
        (2, "said", "Will do."),
        (2, "bash", {"command": "cat missing.txt"}, False),
        (3, "said", "Done."),
        (3, "bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}, None),
    ]


def test_what_it_submits_is_its_result():
    """The output of the command that ends the work; its console shows tool results too, so that is never the result."""
    trajectory = json.loads(sample("mini_swe_agent.json"))
    trajectory["info"] = {"submission": "The bug is in parse().\n"}
    found = agent("mini-swe-agent")
    *_, last = found.read_log((end(),), {TRAJECTORY: json.dumps(trajectory).encode()})
    assert isinstance(last, Concluded)
    assert last.text == "The bug is in parse().\n"
    assert prints_events(found)


def _lines() -> str:
    return "\n".join(json.dumps(message) for message in json.loads(sample("mini_swe_agent.json"))["messages"])


@given(broken_lines(_lines()))
def test_a_broken_trajectory_is_at_most_a_value_error(lines: str):
    """Random changes of real messages, and text that is not JSON."""
    messages: list[Any] = []
    for line in lines.splitlines():
        try:
            messages.append(json.loads(line))
        except ValueError:
            messages.append(line)
    for content in (json.dumps({"messages": messages}), lines, "[" * 100_000):
        try:
            agent("mini-swe-agent").read_log((end(),), {TRAJECTORY: content.encode(errors="replace")})
        except ValueError:
            continue


def test_unsupported_abilities():
    """It has one task and one conversation, and never asks."""
    missing = {Ability.TURNS, Ability.MESSAGES, Ability.DENY, Ability.SUB_AGENTS, Ability.MCP}
    assert set(agent("mini-swe-agent").cannot) == missing
