"""Faults as people write them: what is understood, what is refused, and when one hits."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from demeanor.core.text.codec import decode, encode
from demeanor.core.values.errors import BadInput
from demeanor.core.values.fault import DONE, OPTIONS, Fault, FaultKind, kind_in, parse_fault, parse_faults

PAGE = Path(__file__).parents[3] / "docs" / "gateway.md"


def read(text: object) -> Fault:
    """The fault that a text means."""
    return parse_fault(text, where="here")


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    """Any fault that can be written."""
    kind = draw(st.sampled_from(FaultKind))
    first = draw(st.integers(1, 10**6))
    last = draw(st.integers(first, 10**6))
    percent = draw(st.floats(0.001, 100))
    when = draw(st.sampled_from([{}, {"first": first, "last": last}, {"percent": percent}]))
    values: dict[str, st.SearchStrategy[object]] = {
        "retry_after": st.integers(0, 3600),
        "delay": st.floats(0.001, 3600),
        "content_type": st.sampled_from(["text/plain", "image/svg+xml", "text/html; charset=utf-8"]),
    }
    name = OPTIONS.get(kind)
    option = {name: draw(values[name])} if name and draw(st.booleans()) else {}
    return Fault(kind=kind, **when, **option)


@given(faults())
def test_what_is_written_can_be_read_back(fault: Fault) -> None:
    """A fault's text means the same fault, and so does its JSON."""
    assert read(str(fault)) == fault
    assert decode(Fault, encode(fault)) == fault
    assert kind_in(str(fault)) is fault.kind


@given(st.text() | st.none() | st.integers() | st.from_regex(r"[a-z0-9-]{1,6}@?[0-9%-]{0,6}:?[a-z_]{0,5}=?[0-9.]{0,4}"))
def test_whatever_is_written_is_understood_or_refused(text: object) -> None:
    """There is no third way."""
    try:
        fault = read(text)
    except BadInput:
        return
    assert read(str(fault)) == fault


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("hang", Fault(kind=FaultKind.HANG)),
        ("cut@2", Fault(kind=FaultKind.CUT, first=2, last=2)),
        ("cut@2-4", Fault(kind=FaultKind.CUT, first=2, last=4)),
        ("500@30%", Fault(kind=FaultKind.SERVER, percent=30.0)),
        ("429@1:retry_after=1", Fault(kind=FaultKind.RATE_LIMIT, first=1, last=1, retry_after=1)),
        ("drip:delay=0.25", Fault(kind=FaultKind.DRIP, delay=0.25)),
        ("tool:db.find:500@1", Fault(kind=FaultKind.SERVER, first=1, last=1, tool="db.find")),
        ("cut@1:else=fail", Fault(kind=FaultKind.CUT, first=1, last=1, must_survive=True)),
        ("429:retry_after=1:else=fail", Fault(kind=FaultKind.RATE_LIMIT, retry_after=1, must_survive=True)),
        ("tool:db.find.all:hang", Fault(kind=FaultKind.HANG, tool="db.find.all")),
        ("content-type:content_type=text/plain", Fault(kind=FaultKind.CONTENT_TYPE, content_type="text/plain")),
    ],
)
def test_forms(text: str, fault: Fault) -> None:
    """Every form that the page shows."""
    assert read(text) == fault
    assert str(fault) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hnag", "did you mean 'hang'?"),
        ("", "known: 429, 500"),
        ("malformed@1", "did you mean 'malformed-sse'?"),
        ("cut@0", "'0' does not select an exchange"),
        ("cut@", "'' does not select an exchange"),
        ("cut@3-2", "'3-2' does not select an exchange"),
        ("cut@0%", "'0%' does not select an exchange"),
        ("cut@101%", "'101%' does not select an exchange"),
        ("cut@١", "does not select an exchange"),
        ("cut@1:delay=1", "cut has no options, found 'delay=1'"),
        ("429@1:delay=1", "the option of 429 is :retry_after=VALUE"),
        ("429:retry_after", "the option of 429 is :retry_after=VALUE"),
        ("429:retry_after=1:retry_after=2", "the option of 429 is :retry_after=VALUE"),
        ("429:retry_after=1.5", "write whole seconds"),
        ("429:retry_after=-1", "write whole seconds"),
        ("drip:delay=0", "write seconds, above 0"),
        ("drip:delay=nan", "write seconds, above 0"),
        ("content-type:content_type=x\r\nSet-Cookie", "write a type such as text/html"),
        ("tool:find:500", "write tool:SERVER.TOOL:KIND"),
        ("tool:db.find", "write tool:SERVER.TOOL:KIND"),
        ("tool:db.find:tool:db.find:500", "write tool:SERVER.TOOL:KIND"),
        ("tool:db.find:cut@1", "the faults of tools, without options: 429"),
        ("tool:db.find:429:retry_after=1", "a tool can't have the fault"),
        ("tool:db.find:429:else=fail", "a tool can't have the fault"),
        ("judge:429:else=fail", "the option of 429 is :retry_after=VALUE"),
        ("cut:else=fail:else=fail", "cut has no options, found 'else=fail'"),
        (429, "write KIND[@WHEN][:OPTION=VALUE]"),
    ],
)
def test_mistakes_are_reported_with_a_remedy(text: object, expected: str) -> None:
    """The message shows the text, what is wrong with it, and what would be right."""
    with pytest.raises(BadInput) as caught:
        read(text)
    assert expected in str(caught.value)
    assert repr(text) in str(caught.value)
    assert caught.value.remedy


def test_a_mistake_in_a_list_names_its_place() -> None:
    """The second of three is easy to find."""
    with pytest.raises(BadInput, match=r"demeanor\.toml: faults\[1\]: 'cutt': unknown kind of fault 'cutt'"):
        parse_faults(["cut", "cutt", "hang"], where="demeanor.toml", key="faults")


def test_numbers_hit_what_they_say() -> None:
    """One, several, or all."""
    hit = {text: [n for n in range(1, 7) if read(text).hits(n, seed=1)] for text in ("cut@2", "cut@2-4", "cut")}
    assert hit == {"cut@2": [2], "cut@2-4": [2, 3, 4], "cut": [1, 2, 3, 4, 5, 6]}


def test_a_probability_is_drawn_from_the_seed() -> None:
    """The same seed draws the same; another draws another; and about as many are hit as should be."""
    fault = read("500@30%")
    draws = {seed: tuple(fault.hits(n, seed) for n in range(1, 201)) for seed in range(20)}
    assert draws == {seed: tuple(fault.hits(n, seed) for n in range(1, 201)) for seed in range(20)}
    assert len(set(draws.values())) == 20
    assert 0.25 < sum(map(sum, draws.values())) / 4000 < 0.35
    assert all(read("500@100%").hits(n, seed=3) for n in range(1, 100))


def test_every_kind_is_explained() -> None:
    """In a sentence, and in the page."""
    assert set(DONE) == set(FaultKind)
    page = PAGE.read_text()
    assert [kind for kind in FaultKind if f"\n| `{kind}` |" not in page] == []
    assert [option for option in OPTIONS.values() if f"`{option}=" not in page] == []


def test_a_rule_of_another_version_has_no_kind() -> None:
    """What was kept by a newer Demeanor can be read all the same."""
    assert kind_in("meteor@1") is None
