"""Any bytes raise nothing but Malformed, and every stream has an end."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from demeanor.core.values.exchange import Request
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.dialect import Malformed, Route
from demeanor.gateway.dialects.errors import read_error
from demeanor.gateway.dialects.stream_events import Finished, Interrupted
from tests.gateway.dialects import test_anthropic, test_gemini, test_openai_chat, test_openai_responses
from tests.gateway.dialects.helpers import changed, in_pieces, places

MODULES: dict[str, Any] = {
    "openai-chat": test_openai_chat,
    "openai-responses": test_openai_responses,
    "anthropic": test_anthropic,
    "gemini": test_gemini,
}
STREAMS = {name: module.EVENTS if name == "gemini" else module.STREAM for name, module in MODULES.items()}
ARRAY = test_gemini.ARRAY
ROUTE = Route(operation="generate", model="m")

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
odd = st.sampled_from(
    [10**400, -1, 1e308, "\ud800", "data:image/png;base64,!!", [[]], {"type": 3}, {"type": "text"}, ""]
)
values = st.recursive(
    scalars | odd, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)


@st.composite
def mutated(draw: st.DrawFn, data: Any) -> bytes:
    """A message with a few values replaced, and sometimes a few bytes."""
    for _ in range(draw(st.integers(1, 3))):
        data = changed(data, draw(st.sampled_from(places(data))), draw(values))
    return draw(damaged(json.dumps(data).encode("utf-8", "replace")))


@st.composite
def damaged(draw: st.DrawFn, body: bytes) -> bytes:
    """Bytes of which some are sometimes lost or replaced."""
    if draw(st.integers(0, 3)):
        return body
    start = draw(st.integers(0, len(body)))
    end = draw(st.integers(start, len(body)))
    return body[:start] + draw(st.binary(max_size=8)) + body[end:]


def tell_everywhere(request: Request) -> None:
    for dialect in DIALECTS.values():
        json.loads(dialect.write_request(request).body)


@pytest.mark.parametrize("name", DIALECTS)
@given(data=st.data())
def test_requests(name: str, data: st.DataObject) -> None:
    """A request is read and can be written in every dialect, or it is malformed."""
    body = data.draw(mutated(MODULES[name].REQUEST))
    try:
        request = DIALECTS[name].read_request(body, ROUTE)
    except Malformed:
        return
    tell_everywhere(request)


@pytest.mark.parametrize("name", DIALECTS)
@given(data=st.data())
def test_responses(name: str, data: st.DataObject) -> None:
    """A response is read and can be written in every dialect, or it is malformed."""
    body = data.draw(mutated(MODULES[name].RESPONSE))
    try:
        response = DIALECTS[name].read_response(body)
    except Malformed:
        return
    for dialect in DIALECTS.values():
        json.loads(dialect.write_response(response, Request(model="m", messages=())).body)


@st.composite
def mutated_stream(draw: st.DrawFn, stream: bytes) -> bytes:
    """A stream with values replaced in a few events, events lost or repeated, and sometimes a few bytes."""
    events = stream.decode().replace("\r\n", "\n").split("\n\n")[:-1]
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(events) - 1))
        head, _, data = events[at].partition("data: ")
        if draw(st.booleans()) and data.startswith("{"):
            parsed = json.loads(data)
            spoilt = changed(parsed, draw(st.sampled_from(places(parsed))), draw(values))
            events[at] = f"{head}data: {json.dumps(spoilt)}"
        else:
            events = events[:at] + draw(st.sampled_from([[], [events[at]] * 2])) + events[at + 1 :]
        if not events:
            break
    return draw(damaged("".join(f"{event}\n\n" for event in events).encode("utf-8", "replace")))


@pytest.mark.parametrize("name", DIALECTS)
@given(data=st.data())
def test_streams(name: str, data: st.DataObject) -> None:
    """A stream has exactly one end, good or bad, and can be written in every dialect."""
    body = data.draw(mutated_stream(STREAMS[name]))
    size = data.draw(st.integers(1, 200))
    reader = DIALECTS[name].stream_reader()
    writers = [dialect.stream_writer(Request(model="m", messages=())) for dialect in DIALECTS.values()]
    deltas = [delta for at in range(0, len(body), size) for delta in reader.feed(body[at : at + size])]
    deltas += reader.close()
    for writer in writers:
        for delta in deltas:
            writer.write(delta)
        writer.close()
    assert [isinstance(delta, Finished | Interrupted) for delta in deltas].count(True) == 1
    assert isinstance(deltas[-1], Finished | Interrupted)


@given(body=damaged(ARRAY), size=st.integers(1, 200))
def test_a_growing_array(body: bytes, size: int) -> None:
    """A stream that is a JSON array also has exactly one end."""
    deltas = in_pieces(DIALECTS["gemini"], body, size)
    assert [isinstance(delta, Finished | Interrupted) for delta in deltas].count(True) == 1


@pytest.mark.parametrize("name", DIALECTS)
@given(body=st.binary(max_size=60), status=st.integers(100, 599))
def test_anything(name: str, body: bytes, status: int) -> None:
    """Any bytes are refused or read; an error can always be read."""
    dialect = DIALECTS[name]
    assert read_error(status, body).message
    for read in (lambda: dialect.read_request(body, ROUTE), lambda: dialect.read_response(body)):
        with contextlib.suppress(Malformed):  # any other exception is a defect
            read()
