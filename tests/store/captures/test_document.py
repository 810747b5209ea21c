"""Captures as JSON and back."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.capture import Breakdown, Capture
from demeanor.core.values.errors import StoreError
from demeanor.core.values.exchange import Exchange, ProviderError, Request, Response
from demeanor.core.values.messages import Message, Text, ToolCall
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.trajectory import Called, Kind, Said
from demeanor.core.values.verdict import VoidCause
from demeanor.store.captures.document import capture_json, read_capture_json, read_exchanges, read_start_hash


def a_file(content: bytes, *, executable: bool = False) -> Entry:
    """A file as a snapshot has it."""
    digest = sha256(content).hexdigest()
    return Entry(kind="file", size=len(content), sha256=digest, content=content, executable=executable)


ENTRIES = st.one_of(
    st.builds(a_file, st.binary(max_size=20), executable=st.booleans()),
    st.builds(lambda target: Entry(kind="link", target=target), st.text(max_size=5)),
    st.just(Entry(kind="other")),
    st.just(Entry(kind="file", size=10**9, sha256="")),
)
TREES = st.builds(
    lambda entries, gaps: Tree(entries=entries, gaps=tuple(gaps)),
    st.dictionaries(st.text("ab/.", min_size=1, max_size=3), ENTRIES, max_size=5),
    st.lists(st.text(max_size=5), max_size=2),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
EXCHANGES = st.builds(
    lambda number, text, extra, error: Exchange(
        number=number,
        dialect="openai",
        request=Request(model=text, messages=(Message(role="user", parts=(Text(text=text),)),), extra={"x": extra}),
        response=None if error else Response(parts=(ToolCall(id="1", name=text, arguments={"a": extra}),)),
        error=ProviderError(status=429, reason="rate_limit", message=text) if error else None,
    ),
    st.integers(1, 99), st.text(), JSON, st.booleans(),
)  # fmt: skip
REWARDS = st.dictionaries(st.text(), st.floats(allow_nan=False, allow_infinity=False), max_size=2)
CAPTURES = st.builds(
    Capture,
    trial=st.text(),
    attempt=st.integers(1, 3),
    exchanges=st.lists(EXCHANGES, max_size=2).map(tuple),
    log=st.lists(st.builds(Said, turn=st.integers(0, 5), text=st.text()), max_size=2).map(tuple),
    log_problem=st.none() | st.text(),
    ends=st.lists(st.builds(lambda t: ProcessEnd(exit_code=1, stdout=Output(text=t)), st.text()), max_size=2).map(
        tuple
    ),
    exit_ok=st.none() | st.booleans(),
    before=TREES,
    after=TREES,
    breakdown=st.none() | st.builds(Breakdown, cause=st.sampled_from(VoidCause), detail=st.text()),
    provider_silent=st.none() | st.floats(0, 9),
    seconds=st.floats(0, 1e6),
    rewards=st.none() | REWARDS,
    step_rewards=st.dictionaries(st.text(), REWARDS, max_size=2),
    notes=st.lists(st.text(), max_size=2).map(tuple),
    facts=st.dictionaries(st.text(), st.text(), max_size=2),
)


@given(CAPTURES)
def test_capture_round_trip(capture: Capture):
    """With any changes of the workspace and any text."""
    assert read_capture_json(capture_json(capture), capture.before, where="x") == capture
    assert read_exchanges(capture_json(capture), where="x") == capture.exchanges


def test_only_changes_are_written(tmp_path: Path):
    """Also if the starting state is in files on disk."""
    (tmp_path / "big").write_bytes(b"as it was")
    on_disk = Entry(kind="file", size=9, sha256=sha256(b"as it was").hexdigest(), content=tmp_path / "big")
    before = Tree(entries={"big": on_disk, "gone": a_file(b"x")})
    log = (Called(turn=1, id="1", tool="t", kind=Kind.EDIT, arguments={}),)
    capture = Capture(
        trial="t", attempt=1, log=log, before=before, after=Tree(entries={"big": on_disk, "new": a_file(b"y")})
    )
    text = capture_json(capture)
    assert b"big" not in text
    again = read_capture_json(text, before, where="x")
    assert again == capture
    assert again.after.entries["big"].read() == b"as it was"


@pytest.mark.parametrize(
    "text", [b"{", b"[]", b'{"schema": "demeanor-capture/9"}', b'{"schema": "demeanor-capture/1"}']
)
def test_other_documents_are_refused(text: bytes):
    """The message says where it was."""
    with pytest.raises(StoreError, match="over there: the capture"):
        read_capture_json(text, Tree(), where="over there")


def test_the_hash_of_the_starting_state_must_be_a_hash():
    """It becomes a file name."""
    capture = Capture(trial="t", attempt=1)
    assert read_start_hash(capture_json(capture, start="ab" * 32), where="x") == "ab" * 32
    assert read_start_hash(capture_json(capture), where="x") == ""
    for text in (capture_json(capture, start="../../etc/passwd"), b'{"schema": "demeanor-capture/1", "trial": "t"}'):
        with pytest.raises(StoreError, match="is not the hash of a starting state"):
            read_start_hash(text, where="x")
