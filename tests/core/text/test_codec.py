"""Values to JSON and back: nothing is lost, and what is not such a value is refused with the path to it."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from demeanor.core.text.codec import DecodeError, decode, encode
from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.capture import Capture
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.mcp_fixture import Fixture, FixtureTool, HttpServer, McpServer, Reply
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.tally import Decision, Tally
from demeanor.core.values.trajectory import Called, Kind, Said, Trajectory
from demeanor.core.values.verdict import Fail, Finding, Verdict

KEPT = [Capture, Evidence, Exchange, Record, RunInfo, Tally, Decision, Trajectory, Tree]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
PLAIN = {
    str: st.text(max_size=4),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    bytes: st.binary(max_size=4),
    type(None): st.none(),
    object: JSON,
}


TALLY = {"eval": "e", "subject": "s", "policy": "ALWAYS_PASSES"}


def values_of(kind) -> st.SearchStrategy:
    """Any value of a type, by its hints."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is typing.Any:
        return JSON
    if origin in (typing.Union, types.UnionType):
        return st.one_of([values_of(arg) for arg in args if arg is not Path])
    if origin is typing.Literal:
        return st.sampled_from(args)
    if origin is tuple:
        if args[1:] == (Ellipsis,):
            return st.lists(values_of(args[0]), max_size=2).map(tuple)
        return st.tuples(*map(values_of, args))
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(values_of(args[0]), values_of(args[1]), max_size=2)
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        constants = {field.name for field in dataclasses.fields(kind) if _is_constant(hints[field.name])}
        return st.builds(kind, **{name: values_of(hint) for name, hint in hints.items() if name not in constants})
    return st.sampled_from(kind) if issubclass(kind, Enum) else PLAIN[kind]


def _is_constant(hint) -> bool:
    return typing.get_origin(hint) is typing.Literal and len(typing.get_args(hint)) == 1


@pytest.mark.parametrize("kind", KEPT, ids=lambda kind: kind.__name__)
@settings(max_examples=25)
@given(data=st.data())
def test_round_trip_loses_nothing(kind, data):
    """What is kept and read again, through real JSON, is equal to what it was."""
    value = data.draw(values_of(kind))
    assert decode(kind, json.loads(json.dumps(encode(value)))) == value


@given(values_of(Verdict))
def test_verdicts_are_distinguished(verdict):
    """A union of values comes back as the right one."""
    found = decode(Verdict, encode(verdict))
    assert type(found) is type(verdict)
    assert found == verdict


def test_call_with_its_kind_comes_back():
    """A call's own `kind` is not mistaken for what tells the events apart."""
    call = Called(turn=1, id="1", tool="grep", kind=Kind.SEARCH, arguments={"pattern": "x"})
    trajectory = Trajectory(events=(call, Said(turn=2, text="Done.")))
    assert decode(Trajectory, encode(trajectory)) == trajectory


def test_content_on_disk_is_read_in(tmp_path):
    """A file that lies somewhere is kept by its content."""
    (tmp_path / "a").write_bytes(b"\xff\0")
    kept = decode(Entry, encode(Entry(kind="file", content=tmp_path / "a")))
    assert kept.content == b"\xff\0"


def test_defaults_are_left_out():
    """What says nothing is not written."""
    assert encode(Finding(check="a", answer="yes")) == {"check": "a", "answer": "yes"}
    assert encode(Fail()) == {"outcome": "fail"}


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (Finding, {"check": "a", "answer": "maybe"}, "answer: 'maybe' is not one of 'yes', 'no', 'unknown'"),
        (Finding, {"check": "a"}, "Finding: field 'answer' is missing"),
        (Finding, {"check": 3, "answer": "yes"}, "check: expected str, found int"),
        (Finding, {"check": "a", "answer": "yes", "b": 1}, "Finding: unknown field 'b'"),
        (Finding, [], "expected dict, found list"),
        (Verdict, {"outcome": "win"}, "'win' is not one of pass, fail, void"),
        (Verdict, {}, "None is not one of pass, fail, void"),
        (Fail, {"findings": [{"check": "a", "answer": "no"}, {}]}, "findings[1]: field 'answer' is missing"),
        (Trajectory, {"gaps": "x"}, "gaps: expected list, found str"),
        (RunInfo, {"id": "a", "started": "b", "seed": True}, "seed: expected int, found bool"),
        (Entry, {"kind": "file", "content": "%%%"}, "content: expected base64"),
        (Entry, {"kind": "file", "content": 3}, "content: expected str, found int"),
        (Tally, {**TALLY, "pass_at": {"x": 1.0}}, "pass_at: expected whole numbers as keys, found 'x'"),
        (Evidence, {"trial": "t", "trouble": ["budget"]}, "trouble: expected 2 items, found 1"),
        (Evidence, {"trial": "t", "trouble": ["bugdet", "x"]}, "trouble[0]: 'bugdet' is not one of provider"),
    ],
)
def test_what_is_no_such_value_is_refused_with_the_path_to_it(kind, data, message):
    """Reading is strict, so that a damaged file is never taken for a whole one."""
    with pytest.raises(DecodeError) as caught:
        decode(kind, data)
    assert message in str(caught.value)


@given(kind=st.sampled_from(KEPT), data=JSON)
def test_any_json_is_a_value_or_a_clear_error(kind, data):
    """Nothing but DecodeError comes of damaged data."""
    try:
        decode(kind, data)
    except DecodeError:
        return


def test_value_that_has_no_json_is_refused():
    """A function is not kept by accident."""
    with pytest.raises(TypeError, match="can't encode a function"):
        encode({"a": lambda: None})


def test_the_servers_of_an_eval_survive():
    """A fixture, a program over HTTP, and a command are told apart by their form."""
    tools = {"find": FixtureTool(schema={"q": "string"}, replies=(Reply("a", when={"q": "x"}),))}
    servers = {"a": Fixture(tools, transport="http"), "b": HttpServer(("db", "{port}"), path="/x"), "c": ("db", "-v")}
    assert decode(dict[str, McpServer], json.loads(json.dumps(encode(servers)))) == servers
    with pytest.raises(DecodeError, match=r"b: expected one of the keys tools, command"):
        decode(dict[str, McpServer], {"b": {"comand": ["db"]}})
