"""The tool-call chain, for people."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, strategies as st

from demeanor.core.values.trajectory import Asked, Called, Faulted, Kind, ModelFailed, Said, Trajectory
from demeanor.judge.shown_calls import call_chain
from tests.judge.helpers import called


def chain(*events, gaps=()) -> list[str]:
    return call_chain(Trajectory(events=events, gaps=gaps)).splitlines()


def test_calls_are_numbered_and_shown_as_written():
    """Name, arguments and how it ended; what was said is left out."""
    assert chain(
        called("write_file", path="notes.txt", content="buy milk"), Said(turn=1, text="Hm."), called("ls")
    ) == [
        '1. write_file(path="notes.txt", content="buy milk") → ok',
        "2. ls() → ok",
    ]


def test_endings_are_distinguished():
    """Succeeded, failed, with a result, and without a result."""
    assert chain(
        called("a", result="fine"),
        called("b", result="no such file", succeeded=False),
        called("c", result="something", succeeded=None),
        called("d", result=None, succeeded=None),
    ) == ["1. a() → ok: fine", "2. b() → failed: no such file", "3. c() → something", "4. d() → no result recorded"]


def test_long_things_are_cut():
    """A line stays a line, and a thousand calls are not all shown."""
    (line,) = chain(called("write_file", content="x" * 10_000, result="y" * 10_000, more=list(range(1000))))
    assert len(line) < 320
    assert "…" in line
    many = chain(*[called("a")] * 1000)
    assert len(many) == 201
    assert many[100] == "… 800 lines left out"
    assert many[-1].startswith("1000. ")


def test_malformed_arguments_are_shown_as_they_came():
    """What was no JSON is shown raw."""
    call = Called(turn=1, id="1", tool="a", kind=Kind.OTHER, arguments={}, raw='{"path": ')
    assert chain(call) == ['1. a({"path":) → no result recorded']


def test_failures_of_the_model_and_gaps_are_shown():
    """They explain why a chain ends where it ends."""
    failed = ModelFailed(turn=1, status=429, reason="rate_limit", message="slow down")
    assert chain(failed, gaps=("the log was cut",)) == [
        "!  the model failed: rate_limit 429: slow down",
        "?  incomplete: the log was cut",
    ]


def test_injected_faults_are_shown():
    """They stand where they were met, and are no calls."""
    fault = Faulted(turn=1, kind="cut", detail="cut@1: the connection was closed\nin the middle")
    assert chain(fault, called("a"))[0] == "#  fault injected: cut@1: the connection was closed in the middle"
    assert chain(fault, called("a"))[1].startswith("1. a(")


def test_no_calls_is_shown():
    """An empty chain is not an empty text."""
    assert chain() == ["(no tool calls)"]


@given(tool=st.text(), arguments=st.dictionaries(st.text(), st.text() | st.integers() | st.none()), result=st.text())
def test_nothing_an_agent_writes_gets_out_of_its_line(tool, arguments, result):
    """Whatever the names and values are, a call is one line of printable text."""
    call = Called(turn=1, id="1", tool=tool, kind=Kind.OTHER, arguments=arguments, result=result, succeeded=True)
    (line,) = chain(call)
    assert line.startswith("1. ")
    assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in line)


def test_a_denial_is_shown_before_its_call():
    """What was allowed is no news."""
    allowed = Asked(turn=1, id="1", tool="shell", kind=Kind.EXECUTE, answer="allow")
    chain = call_chain(Trajectory(events=(allowed, replace(allowed, answer="deny"))))
    assert chain == "-  asked for permission to use shell: denied"
