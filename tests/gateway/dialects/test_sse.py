"""Server-sent events: the same events for any line endings and chunk sizes."""

from __future__ import annotations

import pytest

from demeanor.gateway.dialects import sse
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.sse import Event, SseReader, event

TEXT = ": hello\n\nevent: a\ndata: 1\ndata: 2\n\n\nid: 7\nretry: 3\ndata:x\n\nevent: lost\n\ndata: é\n\n"
EVENTS = [Event(name="a", data=b"1\n2"), Event(data=b"x"), Event(data="é".encode())]


def read(body: bytes, size: int) -> list[Event]:
    reader = SseReader()
    found = [found for at in range(0, len(body), size) for found in reader.feed(body[at : at + size])]
    return found + reader.close()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("size", [1, 2, 3, 5, 1000])
def test_events(end: str, size: int) -> None:
    """Comments, ids and retries are ignored; data lines are joined; an event without data is ignored."""
    found = read(TEXT.replace("\n", end).encode(), size)
    assert [each.data for each in found] == [each.data for each in EVENTS]
    assert [each.name for each in found[:2]] == ["a", ""]


def test_the_last_event_may_lack_its_end() -> None:
    """The incomplete event at the end of the stream is marked."""
    assert read(b"data: 1\n\ndata: [DONE]", 4)[-1] == Event(data=b"[DONE]")


@pytest.mark.parametrize(
    ("body", "events"),
    [
        (b"data: 1\n\n", [Event(data=b"1")]),
        (b"data: 1\r", [Event(data=b"1")]),
        (b"event: \xff\ndata: 1\n\n", [Event(name="\ufffd", data=b"1")]),
        (b"\xef\xbb\xbfdata: 1\n\xef\xbb\xbfdata: 2\n\n", [Event(data=b"1")]),
        (b"data\ndata: 1\n\n", [Event(data=b"\n1")]),
        (b"data:  1\n\n", [Event(data=b" 1")]),
    ],
)
def test_odd_events(body: bytes, events: list[Event]) -> None:
    """A byte order mark has no meaning at the beginning only; one space after the colon is no part of the data."""
    assert read(body, len(body)) == events


def test_an_event_is_complete_with_the_next_piece() -> None:
    """A carriage return at the end of a piece may be half of a line end, so what follows tells."""
    reader = SseReader()
    assert reader.feed(b"data: 1\r\r") == []
    assert reader.feed(b"data: 2") == [Event(data=b"1")]
    assert reader.feed(b"3") == []
    assert reader.feed(b"\r\n\r") == []
    assert reader.feed(b"\n") == [Event(data=b"23")]


@pytest.mark.parametrize(
    ("start", "known"),
    [
        *((b"", None), (b"da", None), (b"data", None)),
        *((b"data: x", True), (b": x", True), (b"\xef\xbb\xbfid: 1", True), (b"\n event:", True)),
        *((b"{", False), (b"hello", False), (b"hello: x", False)),
    ],
)
def test_the_first_line_tells_whether_a_stream_has_events(start: bytes, known: bool | None) -> None:
    """None as long as it may become a field."""
    assert sse.first_line_is_event(start) is known


def test_an_endless_line_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream can't use all memory."""
    monkeypatch.setattr(sse, "MAX_EVENT_BYTES", 100)
    reader = SseReader()
    reader.feed(b"0123456789" * 10)
    with pytest.raises(Malformed, match="longer than 100 bytes"):
        reader.feed(b"0")


def test_written_events_are_read_back() -> None:
    """Written events are read back."""
    assert read(event({"a": "é\n"}, "name") + event([1]), 3) == [
        Event(name="name", data=b'{"a":"\\u00e9\\n"}'),
        Event(data=b"[1]"),
    ]
