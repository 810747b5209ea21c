"""Events of a log, put together."""

from __future__ import annotations

from demeanor.agents.log_builder import LogBuilder
from demeanor.core.trajectory import Called


def test_a_call_that_is_told_twice_counts_once():
    """The arguments told last count, and a later word completes an earlier one."""
    story = LogBuilder()
    story.next_turn()
    story.called("c", "shell", {})
    story.called("c", "shell", {"command": "ls"})
    story.answered("c", None, succeeded=True, seconds=2.0)
    story.answered("c", "a.txt")
    (call,) = story.events()
    assert isinstance(call, Called)
    assert (call.arguments, call.result, call.succeeded, call.seconds) == ({"command": "ls"}, "a.txt", True, 2.0)


def test_an_id_may_come_again():
    """In a later turn, when its first call was answered, it is another call."""
    story = LogBuilder()
    for turn in ("first", "second"):
        story.next_turn()
        story.called("c", "shell", {"command": turn})
        story.answered("c", turn)
    assert [(event.turn, event.result) for event in story.events() if isinstance(event, Called)] == [
        (1, "first"),
        (2, "second"),
    ]
