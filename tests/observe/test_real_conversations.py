"""Requests of real agents with sub-agents and side requests, recorded with a scripted model; long texts are cut."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.core.text.codec import decode
from demeanor.core.values.capture import Capture
from demeanor.core.values.trajectory import Aside, Said, Trajectory
from demeanor.observe import observe

SAMPLES = Path(__file__).parent / "samples"
TASK = "SUBTASK: look at a.txt"
REPORT = "Sub-agent report: 8431"


def recorded(name: str, *, log: bool = True, prompts: bool = True) -> Trajectory:
    """What is known about a recorded trial, also without the agent's own log or the eval's prompts."""
    capture = decode(Capture, json.loads((SAMPLES / f"{name}.json").read_text("utf-8")))
    capture = capture if log else replace(capture, log=())
    return observe(capture if prompts else replace(capture, prompts=()), {}).trajectory


@pytest.mark.parametrize("log", [True, False], ids=["with-log", "wire-only"])
@pytest.mark.parametrize("prompts", [True, False], ids=["prompts-known", "prompts-unknown"])
@pytest.mark.parametrize(
    ("agent", "starter", "tool"),
    [
        ("claude_code", "Agent", "Bash"),
        ("opencode", "task", "bash"),
        ("codex", "multi_agent_v1__spawn_agent", "exec_command"),
        ("qwen_code", "agent", "run_shell_command"),
        ("gemini_cli", "invoke_agent", "run_shell_command"),
        ("cline", "spawn_agent", "run_commands"),
    ],
)
def test_a_sub_agent_is_not_the_agent_itself(agent: str, starter: str, tool: str, log: bool, prompts: bool):
    """Its calls are its own, its messages are not for the user, and the call that started it is known."""
    trajectory = recorded(f"{agent}_sub_agent", log=log, prompts=prompts)
    assert trajectory.final_text == "Main is done."
    assert not any(REPORT in event.text for event in trajectory.events if isinstance(event, Said))
    by_main = [call for call in trajectory.calls if not call.by_sub_agent]
    by_sub_agent = [call for call in trajectory.calls if call.by_sub_agent]
    assert by_main[0].tool == starter
    assert [(call.tool, call.sub_agent) for call in by_sub_agent] == [(tool, 1)]
    assert tool not in {call.tool for call in by_main}
    asides = [event for event in trajectory.events if isinstance(event, Aside)]
    assert {(event.purpose, event.sub_agent) for event in asides} == {("sub-agent", 1)}
    assert (asides[0].prompt, asides[0].started_by) == (TASK, by_main[0].id)
    assert REPORT in [event.said for event in asides]
    assert trajectory.disagreements == ()


@pytest.mark.parametrize("log", [True, False], ids=["with-log", "wire-only"])
def test_a_request_for_the_agents_memory_is_not_a_turn(log: bool):
    """Qwen Code sends one after its answer, with a copy of the conversation."""
    trajectory = recorded("qwen_code_memory", log=log)
    assert trajectory.final_text == "Main is done."
    assert [event.turn for event in trajectory.events if isinstance(event, Said)] == [1]
    (aside,) = [event for event in trajectory.events if isinstance(event, Aside)]
    assert (aside.purpose, aside.said) == ("memory", "Nothing.")


def test_a_sub_agent_that_gets_a_copy_of_the_conversation():
    """Qwen Code can fork its conversation; the copy has the same system prompt and the same tools."""
    trajectory = recorded("qwen_code_fork")
    assert [event.purpose for event in trajectory.events if isinstance(event, Aside)] == ["sub-agent"]
    assert trajectory.final_text == "Main is done."
