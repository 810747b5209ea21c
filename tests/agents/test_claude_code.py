"""Claude Code, as far as it can be tested without the program."""

from __future__ import annotations

import os
import re

import pytest
from hypothesis import given, settings

from demeanor.agents.claude_code import RECIPE
from demeanor.core.scenario import Approval
from demeanor.core.trajectory import Called, Event, Kind, Said, Thought
from tests.agents.lab import EARLIER, NO_EDITS, home_json, hostile, option, orders, printed, sample, spoiled

_SESSION = "projects/-bench-workspace"


def test_it_works_alone_and_talks_to_the_gateway_only():
    """No question is asked, nothing is reported, and every model it may think of is the one under test."""
    (launch,) = orders(RECIPE).launches
    assert launch.argv[-2:] == ("--", "Do it.")
    assert "--dangerously-skip-permissions" in launch.argv
    assert option(launch, "--output-format") == "stream-json"
    assert option(launch, "--model") == launch.env["ANTHROPIC_DEFAULT_HAIKU_MODEL"] == "large"
    assert launch.env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:4711/t/0123456789abcdef"
    assert launch.env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] == launch.env["DISABLE_AUTOUPDATER"] == "1"
    assert launch.env["CLAUDE_CODE_MAX_RETRIES"] == "2"
    assert launch.env["CLAUDE_CONFIG_DIR"] == "/bench/home/.claude"


@pytest.mark.parametrize(("user", "told"), [(0, True), (1000, False)])
def test_only_root_is_told_to_be_in_a_sandbox(user: int, told: bool, monkeypatch: pytest.MonkeyPatch):
    """It is a safety check of the agent's that nobody else needs to switch off."""
    monkeypatch.setattr(os, "geteuid", lambda: user)
    assert ("IS_SANDBOX" in orders(RECIPE).launches[0].env) is told


def test_a_second_prompt_resumes_the_session():
    """The same one, by its id."""
    first, second = orders(RECIPE, "One.", "Two.").launches
    assert option(first, "--session-id") == option(second, "--resume") is not None
    assert option(first, "--resume") is None


def test_an_earlier_conversation_is_a_session():
    """Its file lies where the agent looks for sessions of this workspace."""
    found = orders(RECIPE, messages=EARLIER)
    session = option(found.launches[0], "--resume")
    lines = found.home_files[f".claude/{_SESSION}/{session}.jsonl"].decode().splitlines()
    assert ["zebras" in lines[0], "gnus" in lines[1], len(lines)] == [True, True, 2]


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
def test_what_is_denied_is_refused_by_a_hook(approval: Approval, denied: list[str]):
    """By name, by kind, and by default, which does not reach what agents never ask for."""
    (hook,) = home_json(orders(RECIPE, approval=approval), ".claude/settings.json")["hooks"]["PreToolUse"]
    names = ["Bash", "Edit", "NotebookEdit", "Read", "WebFetch", "WebSearch", "Write", "mcp__x__y"]
    assert [name for name in names if re.search(hook["matcher"], name)] == denied
    assert '"permissionDecision": "deny"' in hook["hooks"][0]["command"]


def test_settings_are_laid_over_settings():
    """The configuration's over the adapter's, an eval's over both."""
    given = {"params": {"settings": {"env": {"B": "3"}}}, "settings": {"env": {"A": "1", "B": "2"}}}
    assert home_json(orders(RECIPE, **given), ".claude/settings.json") == {"env": {"A": "1", "B": "3"}}


def test_an_eval_may_add_to_the_system_prompt():
    """By the agent's own option."""
    (launch,) = orders(RECIPE, params={"append_system_prompt": "Be brief."}).launches
    assert option(launch, "--append-system-prompt") == "Be brief."


def test_what_it_prints_is_understood():
    """A failed tool, a tool that worked, thoughts and words; parts of one answer are one turn."""
    events = RECIPE.read_log(printed(sample("claude_code")), {})
    assert [_told(event) for event in events] == [
        (1, "Read", Kind.READ, False),
        (2, "Write", Kind.EDIT, True),
        (3, "Went on."),
        (4, "I should write a file."),
        (4, "I write it."),
        (4, "Write", Kind.EDIT, True),
        (5, "That went well."),
        (5, "Thought and done."),
    ]


def _told(event: Event) -> tuple[object, ...]:
    if isinstance(event, Called):
        return event.turn, event.tool, event.kind, event.succeeded
    assert isinstance(event, Said | Thought)
    return event.turn, event.text


@settings(max_examples=30, deadline=None)
@given(hostile("claude_code"))
def test_hostile_output_is_read_or_refused(text: str):
    """Whatever it prints, the reader does not fall over."""
    RECIPE.read_log(printed(text), {})


def test_output_that_was_cut_is_no_witness():
    """What is missing in the middle can't be known."""
    with pytest.raises(ValueError, match="its log is cut"):
        RECIPE.read_log(printed("{}", left_out=1), {})


def test_any_value_may_be_anything():
    """Each value of real lines in its turn."""
    for text in spoiled("claude_code"):
        RECIPE.read_log(printed(text), {})
