"""The steps of a trial, as text."""

from __future__ import annotations

from dataclasses import replace

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


def test_a_trial_without_steps_shows_what_its_agent_printed() -> None:
    """An agent that calls no model through the gateway still said something."""
    printed = replace(record(1), stdout="I have saved your note.\n", stderr="warning: old\x1b[31m version\n")
    text = trace_text(printed, [])
    assert "  printed\n      I have saved your note.\n  printed on stderr\n      warning: old" in text
    assert "\x1b" not in text
    assert "no steps recorded, and nothing printed" in trace_text(record(1), [])
