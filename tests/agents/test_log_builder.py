"""Building events from a log."""

from __future__ import annotations

from typing import Any

import pytest

from demeanor.agents.log_builder import LogBuilder
from demeanor.core.values.trajectory import Aside, Called, Concluded, Said


def test_a_call_that_is_reported_twice_counts_once():
    """With the last arguments; results are completed by later ones."""
    log = LogBuilder()
    log.next_turn()
    log.add_call("c", "shell", {})
    log.add_call("c", "shell", {"command": "ls"})
    log.add_result("c", None, exit_code=0, seconds=2.0)
    log.add_result("c", "a.txt")
    (call,) = log.events()
    assert isinstance(call, Called)
    assert (call.arguments, call.result, call.succeeded, call.seconds) == ({"command": "ls"}, "a.txt", True, 2.0)


@pytest.mark.parametrize(
    ("tool", "arguments", "outcome", "succeeded"),
    [
        ("shell", {}, {"succeeded": True}, None),
        ("shell", {}, {"succeeded": False}, False),
        ("shell", {}, {"succeeded": True, "exit_code": 1}, False),
        ("shell", {}, {"succeeded": False, "exit_code": 0}, True),
        ("bash", {}, {"succeeded": True}, True),
        ("bash", {"run_in_background": True}, {"succeeded": True}, None),
        ("read", {}, {"succeeded": True}, True),
    ],
)
def test_the_exit_code_decides_whether_a_command_succeeded(
    tool: str, arguments: dict[str, Any], outcome: dict[str, Any], succeeded: bool | None
):
    """That a tool could start it proves nothing, except with a tool that fails if its command does."""
    log = LogBuilder(shells=("bash",))
    log.add_call("c", tool, arguments)
    log.add_result("c", "…", **outcome)
    (call,) = log.events()
    assert isinstance(call, Called)
    assert call.succeeded is succeeded


def test_an_id_can_be_used_again():
    """In a later turn, after the result of its first call, it is another call."""
    log = LogBuilder()
    for turn in ("first", "second"):
        log.next_turn()
        log.add_call("c", "shell", {"command": turn})
        log.add_result("c", turn)
    assert [(event.turn, event.result) for event in log.events() if isinstance(event, Called)] == [
        (1, "first"),
        (2, "second"),
    ]


def test_a_sub_agent_has_its_own_ids_and_says_nothing_to_the_user():
    """Its calls, results and texts are not the agent's."""
    log = LogBuilder()
    log.next_turn()
    log.add_call("c", "task", {})
    helper = log.sub_agent("a0a3")
    log.add_text("I look.", sub_agent=helper)
    log.add_call("c", "shell", {}, sub_agent=helper)
    log.add_result("c", "a.txt", sub_agent=helper)
    log.add_text("Done.")
    log.conclude("Done.")
    log.conclude(" ")
    assert [
        (type(event), getattr(event, "sub_agent", 0), getattr(event, "result", None)) for event in log.events()
    ] == [
        (Called, 0, None),
        (Aside, 1, None),
        (Called, 1, "a.txt"),
        (Said, 0, None),
        (Concluded, 0, None),
    ]
    assert (log.sub_agent("a0a3"), log.sub_agent("b"), log.sub_agent("")) == (1, 2, 0)


def test_a_sub_agent_has_one_number_by_its_name_and_by_the_call_that_started_it():
    """The log may give either, or both; a call's id may come again for another sub-agent."""
    log = LogBuilder()
    given = [("", "t1"), ("a0a3", "t1"), ("a0a3", ""), ("b7", "t2"), ("", "t2"), ("a0a3", "t3"), ("c", "t1"), ("", "")]
    assert [log.sub_agent(*names) for names in given] == [1, 1, 1, 2, 2, 1, 3, 0]
