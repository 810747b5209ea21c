"""The text of a cassette."""

from __future__ import annotations

import json

import pytest

from demeanor.core.exchange import Exchange, ProviderError
from demeanor.gateway.cassette.cassette import BadCassette, read_cassette, write_cassette
from tests.gateway.cassettes import a_cassette, a_request, answered, with_result


def test_what_is_written_can_be_read():
    """Requests, answers and errors come back as they were."""
    error = ProviderError(status=429, reason="rate_limit", message="Too many.")
    failed = Exchange(number=1, dialect="anthropic", request=a_request(), error=error)
    cassette = a_cassette(failed, answered(a_request(), number=2), answered(with_result("a.txt ü 🐟"), number=3))
    assert read_cassette(write_cassette(cassette).encode()) == cassette


def test_a_turn_shows_only_what_was_new_in_it():
    """The conversation so far is not repeated in the file."""
    cassette = a_cassette(answered(a_request()), answered(with_result("a.txt"), number=2))
    second = json.loads(write_cassette(cassette))["exchanges"][1]["request"]
    assert (second["same_messages"], len(second["messages"]), second["same_tools"]) == (2, 2, True)


def test_a_conversation_that_was_cut_short_is_written_right():
    """A later request may hold fewer messages than the one before."""
    cassette = a_cassette(answered(with_result("a.txt")), answered(a_request(), number=2))
    assert read_cassette(write_cassette(cassette).encode()) == cassette


def test_it_is_made_to_be_read():
    """Many lines, and letters as they are."""
    text = write_cassette(a_cassette(answered(a_request("Schöne Grüße"))))
    assert "Schöne Grüße" in text
    assert len(text.splitlines()) > 20


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"schema": "demeanor-cassette/2"}, "another version of Demeanor wrote it"),
        ({"schema": "something"}, "it is no cassette"),
        ({"exchanges": {}}, "exchanges: expected a list"),
        ({"exchanges": [{}]}, "exchanges[0].request: expected a table"),
        ({"exchanges": [{"request": {"same_messages": 1}}]}, "same_messages: 1 is no number from 0 to 0"),
        ({"exchanges": [{"request": {"same_tools": True}}]}, "same_tools: True makes no sense here"),
        ({"exchanges": [{"number": 1, "dialect": "x", "request": {"model": 5, "messages": []}}]}, "request.model"),
        ({"exchanges": [{"number": 7, "dialect": "x", "request": {"model": "m", "messages": []}}]}, "out of order"),
        ({"number": "1"}, "number: expected int"),
        ({"colour": "red"}, "unknown field 'colour'"),
    ],
)
def test_an_edited_text_is_refused_with_the_place(change: dict[str, object], told: str):
    """Whatever does not fit is told with its path."""
    data = {**json.loads(write_cassette(a_cassette())), **change}
    with pytest.raises(BadCassette) as caught:
        read_cassette(json.dumps(data).encode())
    assert told in str(caught.value)
