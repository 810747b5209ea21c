"""Deltas of several open parts are written one part after the other."""

from __future__ import annotations

import pytest

from demeanor.core.values.exchange import ProviderError, Request
from demeanor.core.values.messages import Text
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.stream_events import (
    Began,
    Delta,
    Finished,
    Interrupted,
    PartClosed,
    PartGrew,
    PartOpened,
)
from demeanor.gateway.dialects.stream_writer import InOrder

FIRST, SECOND = (PartOpened(index=index, part=Text(text="")) for index in (0, 1))


def reordered(*deltas: Delta) -> list[Delta]:
    """The deltas in the order in which they can be written."""
    order = InOrder()
    return [ready for delta in deltas for ready in order.add(delta)]


def test_a_part_opens_after_the_previous_one_is_closed() -> None:
    """Deltas of the second part wait for the end of the first."""
    early, late = PartGrew(index=1, text="b"), PartGrew(index=0, text="a")
    ends = [PartClosed(index=1), PartClosed(index=0)]
    found = reordered(Began(), FIRST, SECOND, early, late, *ends, Finished())
    assert found == [Began(), FIRST, late, ends[1], SECOND, early, ends[0], Finished()]


def test_the_end_closes_open_parts() -> None:
    """The end of the response, good or bad, is the last delta."""
    broken = Interrupted(error=ProviderError(status=200, reason="cut", message="cut"))
    for end in (Finished(), broken):
        assert reordered(FIRST, SECOND, end) == [FIRST, PartClosed(index=0), SECOND, PartClosed(index=1), end]


def test_deltas_of_an_unknown_part_are_ignored() -> None:
    """A part that was never opened can't be written."""
    assert reordered(PartGrew(index=7, text="x"), PartClosed(index=7)) == []


@pytest.mark.parametrize("name", DIALECTS)
def test_an_interrupted_response_does_not_look_complete(name: str) -> None:
    """The error is written, and `close` adds no end event."""
    writer = DIALECTS[name].stream_writer(Request(model="m", messages=()))
    error = ProviderError(status=200, reason="cut", message="the provider broke off")
    output = b"".join(map(writer.write, (Began(), FIRST, Interrupted(error=error))))
    assert b"the provider broke off" in output
    assert writer.close() == b""
