"""Where the time of a trial went."""

from __future__ import annotations

from demeanor.core.values.evidence import Spent
from demeanor.core.values.trajectory import Called, Kind, Said
from demeanor.store.history.page_queries import ExchangeTime
from demeanor.web.pages.trial_page import time_spans


def request(number: int, started: float, ended: float) -> ExchangeTime:
    """One request to the model."""
    return ExchangeTime(
        number=number, model="m", stopped="end", started=started, first_byte=None, ended=ended, spent=Spent()
    )


def call(at: float | None, seconds: float | None = None, tool: str = "read") -> Called:
    """One tool call."""
    return Called(turn=1, id="1", tool=tool, kind=Kind.READ, arguments={}, at=at, seconds=seconds)


TWO = [request(1, 1.0, 2.0), request(2, 5.0, 6.0)]


def kinds(*events: Called | Said, seconds: float = 7.0) -> list[tuple[str, float, float]]:
    """The spans of a trial with two requests."""
    return [(one.kind, one.start, one.end) for one in time_spans(TWO, events, seconds)]


def test_tools_take_the_time_until_the_next_request():
    """If nobody measured them; after the last answer there was no call, so that the agent itself took the rest."""
    assert kinds(call(2.0)) == [
        ("start", 0.0, 1.0), ("model", 1.0, 2.0), ("tool", 2.0, 5.0), ("model", 5.0, 6.0), ("agent", 6.0, 7.0),
    ]  # fmt: skip


def test_tools_take_as_long_as_the_log_says():
    """The rest until the next request is the agent's own."""
    spans = time_spans(TWO, [call(2.0, 0.5), call(2.0, 1.0, tool="edit")], 6.0)
    assert [(one.kind, one.end, one.label) for one in spans[2:4]] == [
        ("tool", 3.5, "read, edit, 1.50 s"), ("agent", 5.0, "the agent itself, 1.50 s"),
    ]  # fmt: skip


def test_a_gap_without_calls_is_the_agents_own():
    """No tool is made up."""
    assert [kind for kind, _, _ in kinds(Said(turn=1, text="x", at=1.0))] == [
        "start", "model", "agent", "model", "agent",
    ]  # fmt: skip


def test_steps_that_were_stored_without_times_leave_tools_and_agent_together():
    """As an earlier version stored them; and steps that are not available."""
    for spans in (time_spans(TWO, [call(None)], 7.0), time_spans(TWO, None, 7.0)):
        assert [one.kind for one in spans] == ["start", "model", "tool", "model", "tool"]
        assert spans[2].label == "tools and agent, 3.00 s"


def test_overlapping_requests_count_once():
    """Sub-agents ask at the same time."""
    spans = time_spans([request(1, 1.0, 4.0), request(2, 2.0, 3.0), request(3, 3.5, 5.0)], [], 5.0)
    assert [(one.kind, one.start, one.end) for one in spans] == [
        ("start", 0.0, 1.0), ("model", 1.0, 4.0), ("model", 4.0, 5.0),
    ]  # fmt: skip
