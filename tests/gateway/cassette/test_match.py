"""Finding the exchange that a request means."""

from __future__ import annotations

from dataclasses import replace

from demeanor.gateway.cassette.match import ReplayQueue, difference
from tests.gateway.cassettes import TOOL, a_request, answered, meaning, with_result


def a_deck(*exchanges):
    """A deck of these."""
    return ReplayQueue(exchanges, [meaning(exchange.request) for exchange in exchanges])


def test_order_does_not_matter():
    """The second exchange may be asked for first."""
    first, second = answered(a_request("One.")), answered(a_request("Two."), number=2)
    deck = a_deck(first, second)
    assert deck.draw(meaning(second.request)) is second
    assert deck.draw(meaning(first.request)) is first


def test_the_same_request_gets_its_answers_in_order_and_then_the_last_one_again():
    """A client that tries again is told what it was told."""
    answers = [answered(a_request(), text, number=number) for number, text in enumerate(("a", "b"), 1)]
    deck = a_deck(*answers)
    told = [deck.draw(meaning(a_request())) for _ in range(4)]
    assert told == [answers[0], answers[1], answers[1], answers[1]]


def test_a_miss_shows_the_nearest_exchange_and_the_first_difference():
    """Both values are cut to where they differ."""
    system = "You are careful. " * 50 + "Always ask." + " Be brief." * 50
    deck = a_deck(answered(a_request("Other.", system="Short.")), answered(a_request("Hi.", system=system), number=2))
    asked = meaning(a_request("Hi.", system=system.replace("ask", "act")))
    assert deck.draw(asked) is None
    near = deck.nearest(asked)
    assert near is not None
    assert (near[0].number, near[1].path) == (2, "messages[0].parts[0].text")
    assert "Always ask" in near[1].recorded
    assert "Always act" in near[1].asked
    assert len(near[1].asked) < 150


def test_a_tool_is_named_in_the_path():
    """Tools are told apart by their names."""
    other = replace(TOOL, description="Run any command.")
    found = difference(meaning(a_request()), meaning(a_request(tools=(other,))))
    assert found is not None
    assert (found.path, found.recorded, found.asked) == (
        "tools.shell.description",
        "Run a command.",
        "Run any command.",
    )


def test_what_is_missing_is_told():
    """A message that was recorded and is not asked, and the other way round."""
    found = difference(meaning(with_result("x")), meaning(a_request()))
    assert found is not None
    assert (found.path, found.asked) == ("messages[2]", "(nothing)")


def test_hostile_texts_are_shown_safely():
    """No escape reaches a terminal."""
    found = difference(meaning(a_request("a")), meaning(a_request("\x1b[2Jb\nc")))
    assert found is not None
    assert "\x1b" not in found.asked
    assert "\n" not in found.asked


def test_an_empty_deck_has_nothing_near():
    """A trial without any exchange can be recorded too."""
    assert a_deck().nearest(meaning(a_request())) is None
