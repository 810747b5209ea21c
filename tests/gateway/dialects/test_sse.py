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
