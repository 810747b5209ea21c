"""The file format of cassettes."""

from __future__ import annotations

import json

import pytest

from demeanor.core.values.exchange import Exchange, ProviderError
from demeanor.gateway.cassette.cassette import BadCassette, read_cassette, write_cassette
from tests.gateway.cassette.helpers import a_cassette, a_request, answered, with_result


def test_a_written_cassette_can_be_read():
    """Requests, responses and errors are the same after a round trip."""
    error = ProviderError(status=429, reason="rate_limit", message="Too many.")
    failed = Exchange(number=1, dialect="anthropic", request=a_request(), error=error)
    cassette = a_cassette(failed, answered(a_request(), number=2), answered(with_result("a.txt ü 🐟"), number=3))
    assert read_cassette(write_cassette(cassette).encode()) == cassette


def test_a_turn_contains_only_what_is_new():
    """The file does not repeat the conversation so far."""
    cassette = a_cassette(answered(a_request()), answered(with_result("a.txt"), number=2))
    second = json.loads(write_cassette(cassette))["exchanges"][1]["request"]
    assert (second["same_messages"], len(second["messages"]), second["same_tools"]) == (2, 2, True)


def test_a_shortened_conversation_is_written_correctly():
    """A later request may have fewer messages than the previous one."""
    cassette = a_cassette(answered(with_result("a.txt")), answered(a_request(), number=2))
    assert read_cassette(write_cassette(cassette).encode()) == cassette


def test_the_file_is_readable():
    """It has many lines, and no escaped letters."""
    text = write_cassette(a_cassette(answered(a_request("Schöne Grüße"))))
    assert "Schöne Grüße" in text
    assert len(text.splitlines()) > 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "demeanor-cassette/2"}, "another version of Demeanor wrote it"),
        ({"schema": "something"}, "it is not a cassette"),
        ({"exchanges": {}}, "exchanges: expected a list"),
        ({"exchanges": [{}]}, "exchanges[0].request: expected a table"),
        ({"exchanges": [{"request": {"same_messages": 1}}]}, "same_messages: 1 is not a number from 0 to 0"),
        ({"exchanges": [{"request": {"same_tools": True}}]}, "same_tools: True is not allowed here"),
        ({"exchanges": [{"number": 1, "dialect": "x", "request": {"model": 5, "messages": []}}]}, "request.model"),
        ({"exchanges": [{"number": 7, "dialect": "x", "request": {"model": "m", "messages": []}}]}, "out of order"),
        ({"number": "1"}, "number: expected int"),
        ({"colour": "red"}, "unknown field 'colour'"),
    ],
)
def test_an_invalid_file_is_refused_with_the_path(change: dict[str, object], message: str):
    """The error contains the path to the invalid value."""
    data = {**json.loads(write_cassette(a_cassette())), **change}
    with pytest.raises(BadCassette) as caught:
        read_cassette(json.dumps(data).encode())
    assert message in str(caught.value)
