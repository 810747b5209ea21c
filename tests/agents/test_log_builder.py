"""Building events from a log."""

from __future__ import annotations

from demeanor.agents.log_builder import LogBuilder
from demeanor.core.trajectory import Called


def test_a_call_that_is_reported_twice_counts_once():
    """With the last arguments; results are completed by later ones."""
    log = LogBuilder()
    log.next_turn()
    log.add_call("c", "shell", {})
    log.add_call("c", "shell", {"command": "ls"})
    log.add_result("c", None, succeeded=True, seconds=2.0)
    log.add_result("c", "a.txt")
    (call,) = log.events()
    assert isinstance(call, Called)
    assert (call.arguments, call.result, call.succeeded, call.seconds) == ({"command": "ls"}, "a.txt", True, 2.0)


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
