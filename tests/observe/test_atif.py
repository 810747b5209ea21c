"""ATIF trajectories as events."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from demeanor.core.values.trajectory import Called, Kind, Said, Thought
from demeanor.observe.atif import atif_events
from tests.plugins.harbor.format.test_trial_result import JSON


def test_steps_of_the_agent_become_turns():
    """What it thought, said and called, and what the tool answered."""
    steps = [
        {"source": "user", "message": "greet"},
        {
            "source": "agent",
            "message": [{"type": "text", "text": "Let me see."}],
            "reasoning_content": "hm",
            "tool_calls": [
                {"tool_call_id": "1", "function_name": "Read", "arguments": {"path": "a"}},
                {"tool_call_id": "2", "function_name": "Bash", "arguments": {}},
            ],
            "observation": {"results": [{"source_call_id": "1", "content": "text of a"}]},
        },
        {"source": "agent", "message": "done"},
    ]
    thought, said, read, bash, last = atif_events({"schema_version": "ATIF-v1.6", "steps": steps}, {})
    assert (thought, said) == (Thought(turn=1, text="hm"), Said(turn=1, text="Let me see."))
    assert isinstance(read, Called)
    assert (read.kind, read.arguments, read.result, read.witness) == (Kind.READ, {"path": "a"}, "text of a", "log")
    assert isinstance(bash, Called)
    assert bash.result is None
    assert last == Said(turn=2, text="done")


def test_copied_context_is_not_repeated():
    """It happened before."""
    steps = [
        {"source": "agent", "message": "earlier", "is_copied_context": True},
        {"source": "agent", "message": "now"},
    ]
    assert atif_events({"steps": steps}, {}) == (Said(turn=1, text="now"),)


@given(JSON)
def test_nothing_that_a_file_may_hold_breaks_the_reader(data: Any):
    """It tells less."""
    atif_events(data, {})
    atif_events({"steps": [data, {"source": "agent", "message": data, "tool_calls": data, "observation": data}]}, {})
    atif_events({"steps": [{"source": "agent", "tool_calls": [{"function_name": data, "arguments": data}]}]}, {})
