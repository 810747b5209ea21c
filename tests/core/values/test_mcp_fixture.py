"""Scripted replies: which one answers a call."""

from __future__ import annotations

import pytest

from demeanor.core.text.codec import decode, encode
from demeanor.core.values.mcp_fixture import Fixture, FixtureTool, McpCall, Reply, read_record, was_listed


def test_the_first_reply_that_answers_and_is_not_used_up_is_given():
    """By arguments, with `*` for anything, and as often as it may."""
    once, always = Reply("a", when={"q": "*x*"}, times=1), Reply("b", when={"q": "*x*", "n": 2})
    tool, used = FixtureTool(replies=(once, always)), {}
    assert tool.reply({"q": "axb", "n": 2}, used) is once
    assert tool.reply({"q": "axb", "n": 2}, used) is always
    assert tool.reply({"q": "axb", "n": 3}, used) is None
    assert tool.reply({"q": "ab", "n": 2}, used) is None
    assert tool.reply({}, used) is None


def test_arguments_are_filled_into_the_text():
    """Other braces stay."""
    assert Reply("{q} of {other} {}").filled({"q": 3}) == "3 of {other} {}"


def test_a_short_schema_names_required_arguments():
    """A JSON schema is used as it is."""
    assert FixtureTool(schema={"q": "string"}, replies="x").input_schema == {
        "type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"],
    }  # fmt: skip
    whole = {"type": "object", "properties": {"q": {"type": "string"}}}
    assert FixtureTool(schema=whole, replies="x").input_schema == whole


@pytest.mark.parametrize(
    ("tools", "problem"),
    [
        ({}, "at least one tool"),
        ({"a b": FixtureTool(replies="x")}, "can't be a tool's name"),
        ({"a": FixtureTool()}, "has no replies"),
        ({"a": FixtureTool(schema={"q": "text"}, replies="x")}, "unknown type 'text'"),
    ],
)
def test_a_fixture_that_could_not_be_used_is_refused(tools: dict[str, FixtureTool], problem: str):
    """When it is written, not when it is served."""
    with pytest.raises(ValueError, match=problem):
        Fixture(tools)


def test_a_fixture_survives_the_file_that_its_server_reads():
    """Encoded and decoded."""
    fixture = Fixture({"a": FixtureTool(schema={"q": "string"}, replies=[Reply("x", when={"q": "y"}, error=True)])})
    assert decode(Fixture, encode(fixture)) == fixture


def test_a_record_is_read_as_far_as_it_is_valid():
    """An agent may have written anything into it."""
    text = '{"listed": true}\n{"server": "s", "tool": "t"}\n[1]\n{"tool": 3}\nnot JSON\n{"server": "s"'
    assert was_listed(text)
    assert list(read_record(text)) == [McpCall(server="s", tool="t")]
