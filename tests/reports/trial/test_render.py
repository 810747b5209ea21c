"""The steps of a trial, as text."""

from __future__ import annotations

import pytest

from demeanor.core.values.trajectory import Aside, Called, Kind
from demeanor.reports.trial.render import trace_text
from tests.helpers.runs import record


@pytest.mark.parametrize(
    ("succeeded", "result", "outcome"),
    [
        (True, "3 lines", "→ ok\n"),
        (False, "denied", "→ failed\n"),
        (None, "3 lines", "→ outcome unknown\n"),
        (None, "", "→ outcome unknown\n"),
        (None, None, "→ no result recorded\n"),
    ],
)
def test_a_call_shows_its_outcome(succeeded: bool | None, result: str | None, outcome: str) -> None:
    """Many APIs return the result of a call without saying whether it succeeded."""
    called = Called(
        turn=1, id="c1", tool="view", kind=Kind.READ, arguments={}, result=result, succeeded=succeeded, witness="both"
    )
    assert outcome in trace_text(record(1), [called])


@pytest.mark.parametrize(("purpose", "name"), [("sub-agent", "sub-agent 1"), ("memory", "side request: memory 1")])
def test_what_calls_besides_the_agent_has_one_name(purpose: str, name: str) -> None:
    """At its requests and at its calls."""
    called = Called(turn=1, id="c1", tool="view", kind=Kind.READ, arguments={}, by_sub_agent=True, sub_agent=1)
    text = trace_text(record(1), [Aside(turn=1, purpose=purpose, said="I look.", sub_agent=1), called])
    assert (f"\n  {name}\n" in text, f", by {name}\n" in f"{text}\n") == (True, True), text
