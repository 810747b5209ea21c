"""Taking a key out of whatever comes by."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.exchange import Message, Request, Text
from holdfast.gateway.redaction import Redactor, redacted

KEY = "sk-sksk-123"
PIECES = st.lists(st.sampled_from([KEY, "sk-", "s", "sk-sk", "-123", "\n", "data: x"]), max_size=12)


@given(PIECES, st.integers(min_value=1, max_value=9))
def test_a_key_never_passes_wherever_the_stream_is_cut(pieces: list[str], size: int) -> None:
    """However the bytes are cut, the whole is as long as before, the same elsewhere, and without the key."""
    text = "".join(pieces).encode()
    redactor = Redactor(KEY)
    chunks = [redactor.feed(text[start : start + size]) for start in range(0, len(text), size)]
    assert b"".join([*chunks, redactor.close()]) == text.replace(KEY.encode(), b"*" * len(KEY))


@given(st.lists(st.binary(max_size=30), max_size=8))
def test_without_a_key_nothing_is_held_back(chunks: list[bytes]) -> None:
    """Where there is no key, every chunk goes on as it came."""
    redactor = Redactor("")
    assert [redactor.feed(chunk) for chunk in chunks] == chunks
    assert redactor.close() == b""


def test_an_event_goes_on_at_once() -> None:
    """The end of a server-sent event is never mistaken for the beginning of a key."""
    assert Redactor(KEY).feed(b"data: {}\n\n") == b"data: {}\n\n"


def test_a_value_is_redacted_to_its_depths() -> None:
    """Texts, tables, lists and dataclasses, keys of tables included; the rest stays what it was."""
    request = Request(
        model=KEY,
        messages=(Message(role="user", parts=(Text(text=f"my key is {KEY}."),)),),
        extra={KEY: [1, None, {"deep": KEY}]},
    )
    found = redacted(request, KEY)
    assert KEY not in repr(found)
    assert found.messages[0].text == f"my key is {'*' * len(KEY)}."
    assert redacted(request, "") is request
