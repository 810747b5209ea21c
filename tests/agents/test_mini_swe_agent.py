"""mini-swe-agent: how it is started, and what its trajectory tells."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given

from demeanor.core.agent import Ability
from tests.agents.told import agent, end, hostile, in_file, outline, sample, task

TRAJECTORY = "trajectory.json"


def test_it_asks_nobody_and_fetches_nothing():
    """One retry is one request: those of its SDK are off."""
    orders = agent("mini-swe-agent", retries=3, settings={"agent": {"step_limit": 9}}).orders(task("-x"))
    (launch,) = orders.launches
    assert launch.argv[:3] == ("the-agent", "-y", "--exit-immediately")
    assert launch.argv[-1] == "--task=-x"
    assert launch.env["MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT"] == "4"
    assert launch.env["LITELLM_LOCAL_MODEL_COST_MAP"] == "True"
    assert launch.env["OPENAI_API_BASE"] == "http://127.0.0.1:8/t/1/v1"
    assert in_file(orders, ".config/mini-swe-agent/demeanor.yaml") == {
        "agent": {"cost_limit": 0, "step_limit": 9},
        "model": {"model_kwargs": {"max_retries": 0}},
    }


def test_its_trajectory_tells_also_what_it_could_not_use():
    """The command that ends it is told as one that was never executed: nothing is known of it."""
    leavings = {TRAJECTORY: sample("mini_swe_agent.json").encode()}
    assert outline(agent("mini-swe-agent").read_log((end(),), leavings)) == [
        (1, "bash", {}, None),
        (2, "thought", "Let me think about it."),
        (2, "said", "Will do."),
        (2, "bash", {"command": "cat missing.txt"}, False),
        (3, "said", "Done."),
        (3, "bash", {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"}, None),
    ]


def _lines() -> str:
    return "\n".join(json.dumps(message) for message in json.loads(sample("mini_swe_agent.json"))["messages"])


@given(hostile(_lines()))
def test_no_trajectory_breaks_the_reader(lines: str):
    """It may be anything; what is no JSON at all is a ValueError."""
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


def test_it_says_what_it_cannot_do():
    """One task, one conversation, no questions."""
    assert set(agent("mini-swe-agent").cannot) == {Ability.TURNS, Ability.MESSAGES, Ability.DENY}
