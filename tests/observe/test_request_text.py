"""The texts of a request that show which conversation it belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Part, Text, ToolCall, ToolResult
from demeanor.observe.request_text import RequestText


def message(role: Any, *parts: Part | str) -> Message:
    """A message of this role."""
    return Message(role=role, parts=tuple(Text(text=part) if isinstance(part, str) else part for part in parts))


def request(*messages: Message) -> RequestText:
    """A request with these messages."""
    return RequestText(Request(model="m", messages=messages))


RESULT = ToolResult(call_id="c1", parts=(Text(text="Shop closed."),))


def test_instructions_after_the_last_answer_are_not_the_users():
    """Some agents remind the model of its rules with each result."""
    reminder = message("developer", "Stay in the folder.")
    found = request(message("user", "Do it."), message("assistant", "Ok."), message("user", RESULT), reminder)
    assert found.appended == ""


def test_the_purpose_is_in_the_users_last_message():
    """The start of an answer may follow it."""
    found = request(message("user", "Write a commit message."), message("assistant", "Here it is:"))
    assert found.purpose == "commit message"


def test_a_text_belongs_to_a_role():
    """The user may repeat what the model said."""
    found = request(message("user", "You said: Noted."), message("assistant", "Yes."))
    assert found.contains("Noted.", role="user")
    assert not found.contains("Noted.", role="assistant")


def test_a_result_is_not_the_users_text():
    """An agent may send both in one message."""
    assert request(message("user", "Look around.", RESULT)).last_text == "Look around."


@pytest.mark.parametrize(
    ("argument", "task", "quoted"),
    [
        ("Go on it", "Go on it", True),
        ("Go onit", "Go onit", False),
        ("Check it", "Check it, now!!!", True),
        ("Check it", "Check it, now!!! ", True),
        ("Check it", "Check it, right now", False),
        ("Check that", "Look around", False),
        (["first", {"task": "Look around"}], "Look around", True),
        ({"a": {"b": {"c": "Look around"}}}, "Look around", True),
        ({"a": {"b": {"c": {"d": "Look around"}}}}, "Look around", False),
        ([[[["Look around"]]]], "Look around", False),
    ],
)
def test_a_call_starts_a_sub_agent_with_one_of_its_arguments(argument: Any, task: str, quoted: bool):
    """The argument has eight characters and is half of the task at least; it may be in a list or a table."""
    call = ToolCall(id="c1", name="task", arguments={"argument": argument}, raw="")
    assert [*request(message("user", task)).quoted([call])] == ([call] if quoted else [])
