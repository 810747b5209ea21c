"""Qwen Code, as far as it can be tested without the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

from demeanor.agents.qwen_code import RECIPE
from demeanor.agents.recipe import RecipeAgent, Setup
from demeanor.core.trajectory import Called, Kind
from tests.agents.lab import EARLIER, NO_EDITS, home_json, hostile, option, orders, printed, sample, spoiled, task


def test_it_works_alone_and_talks_to_the_gateway_only():
    """No question is asked, nothing is reported."""
    found = orders(RECIPE, "--version")
    (launch,) = found.launches
    settings = home_json(found, ".qwen/settings.json")
    assert launch.argv[-1] == "--prompt=--version"
    assert option(launch, "--approval-mode") == "yolo"
    assert option(launch, "--model") == "large"
    assert launch.env["OPENAI_BASE_URL"] == "http://127.0.0.1:4711/t/0123456789abcdef/v1"
    assert launch.env["QWEN_CODE_NO_RELAUNCH"] == "true"
    assert settings["privacy"]["usageStatisticsEnabled"] is settings["telemetry"]["enabled"] is False


@pytest.mark.parametrize("dialect", RECIPE.dialects)
def test_it_speaks_several_dialects(dialect: str):
    """Each with variables of its own; the key is the session's token."""
    setup = Setup(program=("qwen",), dialect=dialect)
    (launch,) = RecipeAgent(name="qwen", recipe=RECIPE, setup=setup).orders(task()).launches
    assert "hf-token" in launch.env.values()
    assert any(value.startswith("http://127.0.0.1:4711/t/") for value in launch.env.values())


@pytest.mark.parametrize("beside", [True, False])
def test_it_is_started_with_the_node_that_was_installed_beside_it(beside: bool, tmp_path: Path):
    """One that is on PATH is started as it is."""
    program = tmp_path / "qwen"
    if beside:
        (tmp_path / "node").touch()
    setup = Setup(program=(str(program),), dialect="openai-chat")
    (launch,) = RecipeAgent(name="qwen", recipe=RECIPE, setup=setup).orders(task()).launches
    assert launch.argv[: 1 + beside] == (*([str(tmp_path / "node")] if beside else []), str(program))


def test_a_second_prompt_resumes_the_session():
    """The same one, by its id."""
    first, second = orders(RECIPE, "One.", "Two.").launches
    assert option(first, "--session-id") == option(second, "--resume") is not None


def test_an_earlier_conversation_is_a_session():
    """Its file lies where the agent looks for sessions of this workspace."""
    found = orders(RECIPE, messages=EARLIER)
    session = option(found.launches[0], "--resume")
    lines = found.home_files[f".qwen/projects/-bench-workspace/chats/{session}.jsonl"].decode().splitlines()
    assert ["zebras" in lines[0], "gnus" in lines[1], len(lines)] == [True, True, 2]


def test_what_is_denied_is_refused_by_a_hook():
    """All its tools that edit, and no other."""
    (hook,) = home_json(orders(RECIPE, approval=NO_EDITS), ".qwen/settings.json")["hooks"]["PreToolUse"]
    names = ("edit", "notebook_edit", "read_file", "run_shell_command", "write_file")
    assert [name for name in names if re.search(hook["matcher"], name)] == ["edit", "notebook_edit", "write_file"]


def test_what_it_prints_is_understood():
    """Each part of an answer is a line with an id of its own; together they are one turn."""
    calls = [event for event in RECIPE.read_log(printed(sample("qwen_code")), {}) if isinstance(event, Called)]
    assert [(call.turn, call.id, call.tool, call.kind, call.succeeded) for call in calls] == [
        (1, "call_1", "read_file", Kind.READ, False),
        (2, "call_2", "write_file", Kind.EDIT, True),
        (4, "call_1", "write_file", Kind.EDIT, True),
    ]


@settings(max_examples=30, deadline=None)
@given(hostile("qwen_code"))
def test_hostile_output_is_read_or_refused(text: str):
    """Whatever it prints, the reader does not fall over."""
    RECIPE.read_log(printed(text), {})


def test_any_value_may_be_anything():
    """Each value of real lines in its turn."""
    for text in spoiled("qwen_code"):
        RECIPE.read_log(printed(text), {})
