"""Qwen Code: how it is started, and how its log is read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from demeanor.agents.recipe import RecipeAgent, Setup
from demeanor.agents.recipes.qwen_code import RECIPE
from demeanor.core.values.trajectory import Called, Kind
from tests.agents.helpers import (
    BASE_URL,
    NO_EDITS,
    PRIOR,
    broken_lines,
    each_value_replaced,
    end,
    home_json,
    option,
    orders,
    sample,
    task,
)


def test_it_asks_nothing_and_uses_the_gateway_only():
    """No permission prompts and no telemetry."""
    found = orders(RECIPE, "--version")
    (launch,) = found.launches
    settings = home_json(found, ".qwen/settings.json")
    assert launch.argv[-1] == "--prompt=--version"
    assert option(launch, "--approval-mode") == "yolo"
    assert option(launch, "--model") == "large"
    assert launch.env["OPENAI_BASE_URL"] == f"{BASE_URL}/v1"
    assert launch.env["QWEN_CODE_NO_RELAUNCH"] == "true"
    assert settings["privacy"]["usageStatisticsEnabled"] is settings["telemetry"]["enabled"] is False


@pytest.mark.parametrize("dialect", RECIPE.dialects)
def test_it_speaks_several_dialects(dialect: str):
    """Each with its own variables; the key is the token of the trial."""
    setup = Setup(program=("qwen",), dialect=dialect)
    (launch,) = RecipeAgent(name="qwen", recipe=RECIPE, setup=setup).orders(task()).launches
    assert "demeanor-token" in launch.env.values()
    assert any(value.startswith("http://127.0.0.1:4711/t/") for value in launch.env.values())


@pytest.mark.parametrize("beside", [True, False])
def test_it_uses_the_node_that_was_installed_beside_it(beside: bool, tmp_path: Path):
    """A program on PATH is started directly."""
    program = tmp_path / "qwen"
    if beside:
        (tmp_path / "node").touch()
    setup = Setup(program=(str(program),), dialect="openai-chat")
    (launch,) = RecipeAgent(name="qwen", recipe=RECIPE, setup=setup).orders(task()).launches
    assert launch.argv[: 1 + beside] == (*([str(tmp_path / "node")] if beside else []), str(program))


def test_a_second_prompt_resumes_the_session():
    """By the id of the first launch."""
    first, second = orders(RECIPE, "One.", "Two.").launches
    assert option(first, "--session-id") == option(second, "--resume") is not None


def test_prior_messages_are_a_session_file():
    """It is where the agent looks for sessions of this workspace."""
    found = orders(RECIPE, messages=PRIOR)
    session = option(found.launches[0], "--resume")
    lines = found.home_files[f".qwen/projects/-bench-workspace/chats/{session}.jsonl"].decode().splitlines()
    assert ["Zebra" in lines[0], "Hello" in lines[1], len(lines)] == [True, True, 2]


def test_a_hook_refuses_denied_tools():
    """All of its tools that edit, and no others."""
    (hook,) = home_json(orders(RECIPE, approval=NO_EDITS), ".qwen/settings.json")["hooks"]["PreToolUse"]
    names = ("edit", "notebook_edit", "read_file", "run_shell_command", "write_file")
    assert [name for name in names if re.search(hook["matcher"], name)] == ["edit", "notebook_edit", "write_file"]


def test_its_output_is_read():
    """Each part of an answer is a line with its own id; together they are one turn."""
    calls = [event for event in RECIPE.read_log((end(sample("qwen_code.jsonl")),), {}) if isinstance(event, Called)]
    assert [(call.turn, call.id, call.tool, call.kind, call.succeeded) for call in calls] == [
        (1, "call_1", "read_file", Kind.READ, False),
        (2, "call_2", "write_file", Kind.EDIT, True),
        (4, "call_1", "write_file", Kind.EDIT, True),
    ]


@settings(max_examples=30)
@given(broken_lines(sample("qwen_code.jsonl")))
def test_broken_output_does_not_crash_the_reader(text: str):
    """Random changes of real lines."""
    RECIPE.read_log((end(text),), {})


def test_no_value_crashes_the_reader():
    """Each value of real lines, replaced one at a time."""
    for text in each_value_replaced(sample("qwen_code.jsonl")):
        RECIPE.read_log((end(text),), {})
