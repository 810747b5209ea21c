"""Finding the recorded exchange for a request."""

from __future__ import annotations

from dataclasses import replace

from demeanor.gateway.cassette.match import ReplayQueue, difference
from tests.gateway.cassette.helpers import TOOL, a_request, answered, normalised, with_result


def a_queue(*exchanges):
    """A replay queue of these exchanges."""
    return ReplayQueue(exchanges, [normalised(exchange.request) for exchange in exchanges])


def test_order_does_not_matter():
    """The second exchange may be requested first."""
    first, second = answered(a_request("One.")), answered(a_request("Two."), number=2)
    queue = a_queue(first, second)
    assert queue.take(normalised(second.request)) is second
    assert queue.take(normalised(first.request)) is first


def test_the_same_request_gets_its_answers_in_order_and_then_the_last_one_again():
    """A client that retries gets the same response."""
    answers = [answered(a_request(), text, number=number) for number, text in enumerate(("a", "b"), 1)]
    queue = a_queue(*answers)
    told = [queue.take(normalised(a_request())) for _ in range(4)]
    assert told == [answers[0], answers[1], answers[1], answers[1]]


def test_a_miss_shows_the_nearest_exchange_and_the_first_difference():
    """Both values are cut to where they differ."""
    system = "You are careful. " * 50 + "Always ask." + " Be brief." * 50
    queue = a_queue(answered(a_request("Other.", system="Short.")), answered(a_request("Hi.", system=system), number=2))
    asked = normalised(a_request("Hi.", system=system.replace("ask", "act")))
    assert queue.take(asked) is None
    near = queue.nearest(asked)
    assert near is not None
    assert (near[0].number, near[1].path) == (2, "messages[0].parts[0].text")
    assert "Always ask" in near[1].recorded
    assert "Always act" in near[1].asked
    assert len(near[1].asked) < 150


def test_a_tool_is_named_in_the_path():
    """Tools are identified by their names."""
    other = replace(TOOL, description="Run any command.")
    found = difference(normalised(a_request()), normalised(a_request(tools=(other,))))
    assert found is not None
    assert (found.path, found.recorded, found.asked) == (
        "tools.shell.description",
        "Run a command.",
        "Run any command.",
    )


def test_a_missing_value_is_reported():
    """A message that was recorded and not requested, and the other way round."""
    found = difference(normalised(with_result("x")), normalised(a_request()))
    assert found is not None
    assert (found.path, found.asked) == ("messages[2]", "(nothing)")


def test_hostile_texts_are_shown_safely():
    """No escape sequence reaches a terminal."""
    found = difference(normalised(a_request("a")), normalised(a_request("\x1b[2Jb\nc")))
    assert found is not None
    assert "\x1b" not in found.asked
    assert "\n" not in found.asked


def test_an_empty_queue_has_no_nearest_exchange():
    """A trial without any exchange can be recorded too."""
    assert a_queue().nearest(normalised(a_request())) is None
