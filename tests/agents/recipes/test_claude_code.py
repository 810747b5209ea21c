"""Claude Code: how it is started, and how its log is read."""

from __future__ import annotations

import json
import os
import re

import pytest
from hypothesis import given, settings

from demeanor.agents.recipes.claude_code import RECIPE
from demeanor.core.values.scenario import Approval
from demeanor.core.values.trajectory import Called, Concluded, Event, Kind, Said, Thought
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
)

_SESSION = "projects/-bench-workspace"


def test_it_asks_nothing_and_uses_the_gateway_only():
    """No permission prompts, no telemetry, and all its model settings name the model under test."""
    (launch,) = orders(RECIPE).launches
    assert launch.argv[-2:] == ("--", "Do it.")
    assert "--dangerously-skip-permissions" in launch.argv
    assert option(launch, "--output-format") == "stream-json"
    assert option(launch, "--model") == launch.env["ANTHROPIC_DEFAULT_HAIKU_MODEL"] == "large"
    assert launch.env["ANTHROPIC_BASE_URL"] == BASE_URL
    assert launch.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == launch.env["DISABLE_AUTOUPDATER"] == "1"
    assert launch.env["CLAUDE_CODE_MAX_RETRIES"] == "2"
    assert launch.env["CLAUDE_CONFIG_DIR"] == "/bench/home/.claude"


@pytest.mark.parametrize(("user", "is_set"), [(0, True), (1000, False)])
def test_is_sandbox_is_set_for_root_only(user: int, is_set: bool, monkeypatch: pytest.MonkeyPatch):
    """It turns off a safety check that applies to root only."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert ("IS_SANDBOX" in orders(RECIPE).launches[0].env) is is_set


def test_a_second_prompt_resumes_the_session():
    """By the id of the first launch."""
    first, second = orders(RECIPE, "One.", "Two.").launches
    assert option(first, "--session-id") == option(second, "--resume") is not None
    assert option(first, "--resume") is None


def test_prior_messages_are_a_session_file():
    """It is where the agent looks for sessions of this workspace."""
    found = orders(RECIPE, messages=PRIOR)
    session = option(found.launches[0], "--resume")
    lines = found.home_files[f".claude/{_SESSION}/{session}.jsonl"].decode().splitlines()
    assert ["Zebra" in lines[0], "Hello" in lines[1], len(lines)] == [True, True, 2]


@pytest.mark.parametrize(
    ("approval", "denied"),
    [
        (NO_EDITS, ["Edit", "NotebookEdit", "Write"]),
        (Approval(rules={"Bash": "deny"}), ["Bash"]),
        (Approval(rules={"mcp__x__y": "deny"}), ["mcp__x__y"]),
        (
            Approval(default="deny", rules={"edit": "allow", "Write": "deny"}),
            ["Bash", "WebFetch", "WebSearch", "Write"],
        ),
    ],
)
def test_a_hook_refuses_denied_tools(approval: Approval, denied: list[str]):
    """By name, by kind, and by default, except for tools that agents never ask about."""
    (hook,) = home_json(orders(RECIPE, approval=approval), ".claude/settings.json")["hooks"]["PreToolUse"]
    names = ["Bash", "Edit", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write", "mcp__x__y"]
    assert [name for name in names if re.search(hook["matcher"], name)] == denied
    assert '"permissionDecision": "deny"' in hook["hooks"][0]["command"]


def test_settings_are_merged():
    """The configuration overrides the adapter, the eval overrides both."""
    given = {"params": {"settings": {"env": {"B": "3"}}}, "settings": {"env": {"A": "1", "B": "2"}}}
    assert home_json(orders(RECIPE, **given), ".claude/settings.json") == {"env": {"A": "1", "B": "3"}}


def test_an_eval_can_append_to_the_system_prompt():
    """With the agent's own option."""
    (launch,) = orders(RECIPE, params={"append_system_prompt": "Be brief."}).launches
    assert "--append-system-prompt=Be brief." in launch.argv


def test_its_output_is_read():
    """A failed tool, a successful one, reasoning and text; parts of one answer are one turn."""
    events = RECIPE.read_log((end(sample("claude_code.jsonl")),), {})
    assert [_fields(event) for event in events] == [
        (1, "Read", Kind.READ, False),
        (2, "Write", Kind.EDIT, True),
        (3, "Went on."),
        (4, "I should write a file."),
        (4, "I write it."),
        (4, "Write", Kind.EDIT, True),
        (5, "That went well."),
        (5, "Thought and done."),
        (5, "Thought and done."),
    ]
    assert isinstance(events[-1], Concluded)


def _fields(event: Event) -> tuple[object, ...]:
    if isinstance(event, Called):
        return event.turn, event.tool, event.kind, event.succeeded
    assert isinstance(event, Said | Thought | Concluded)
    return event.turn, event.text


@settings(max_examples=30)
@given(broken_lines(sample("claude_code.jsonl")))
def test_broken_output_does_not_crash_the_reader(text: str):
    """Random changes of real lines."""
    RECIPE.read_log((end(text),), {})


def test_truncated_output_is_an_error():
    """Calls may be missing from it."""
    with pytest.raises(ValueError, match="its log was truncated"):
        RECIPE.read_log((end("{}", left_out=1),), {})


def test_no_value_crashes_the_reader():
    """Each value of real lines, replaced one at a time."""
    for text in each_value_replaced(sample("claude_code.jsonl")):
        RECIPE.read_log((end(text),), {})


def test_a_sub_agent_in_the_background_is_not_the_agent():
    """Its lines name the call that started it, and can come after the agent's last message."""
    own, helper = {"parent_tool_use_id": None}, {"parent_tool_use_id": "t1", "agent_id": "a0a3"}
    rows = [
        {**own, **_said({"type": "tool_use", "id": "t1", "name": "Agent", "input": {"prompt": "Look."}})},
        {**helper, **_said({"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}})},
        {**own, **_said({"type": "text", "text": "It is looking."})},
        {**helper, **_said({"type": "text", "text": "Report."})},
        {"type": "result", "is_error": False, "result": "It is looking."},
    ]
    events = RECIPE.read_log((end("\n".join(json.dumps(row) for row in rows)),), {})
    assert [(event.type, getattr(event, "sub_agent", 0)) for event in events] == [
        ("called", 0),
        ("called", 1),
        ("said", 0),
        ("aside", 1),
        ("concluded", 0),
    ]


def _said(part: dict[str, object]) -> dict[str, object]:
    return {"type": "assistant", "message": {"model": "m", "content": [part]}}


def test_an_error_is_not_a_result():
    """Its text is the program's, not the agent's."""
    rows = [_said({"type": "text", "text": "Hm."}), {"type": "result", "is_error": True, "result": "API Error: 500"}]
    (event,) = RECIPE.read_log((end("\n".join(json.dumps(row) for row in rows)),), {})
    assert isinstance(event, Said)
