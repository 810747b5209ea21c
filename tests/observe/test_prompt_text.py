"""What an agent tells its model before any work begins."""

from __future__ import annotations

import pytest

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Text, Tool
from demeanor.observe.observation import prompt_text

TOOL = Tool(name="read", description="Read a file.", schema={"type": "object"})


def request(system: str, *tools: Tool) -> Request:
    """A first request."""
    return Request(model="m", messages=(Message(role="system", parts=(Text(text=system),)),), tools=tools)


def test_prompt_and_tools_are_readable():
    """System prompt first, then each tool with its schema."""
    assert prompt_text(request("Be careful.", TOOL), {}) == (
        "# System prompt\n\nBe careful.\n\n# Tools\n\n## read\n\nRead a file.\n\n"
        '```json\n{\n  "type": "object"\n}\n```\n'
    )


@pytest.mark.parametrize(
    ("system", "shown"),
    [
        ("You work in /tmp/x/workspace.", "You work in <workspace>."),
        ("Home: /tmp/x/home/.config", "Home: <home>/.config"),
        ("Memory: /tmp/x/home/projects/-tmp-x-workspace/memory", "Memory: <home>/projects/<workspace>/memory"),
        ("Today is 2026-11-15.", "Today is <date>."),
        ("It is Sunday, November 15, 2026 now", "It is <date> now"),
        ("date 11/15/2026 end", "date <date> end"),
        ("at 2026-11-15T21:00:00Z", "at <date>"),
        ("session 123e4567-e89b-12d3-a456-426614174000", "session <id>"),
        ("<available_x><y>b</y><y>a</y></available_x>", "<available_x><y>a</y><y>b</y></available_x>"),
        ("version 1.2.3 and 10 tools", "version 1.2.3 and 10 tools"),
    ],
)
def test_what_differs_from_run_to_run_is_taken_out(system: str, shown: str):
    """Two runs on two days in two folders send the same."""
    facts = {"workspace": "/tmp/x/workspace", "home": "/tmp/x/home"}
    assert prompt_text(request(system), facts).split("\n")[2] == shown
