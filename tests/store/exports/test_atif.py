"""Trajectories in ATIF."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies as st

from demeanor.core.values.exchange import Exchange, Request, Response, Usage
from demeanor.core.values.messages import Message, Text
from demeanor.core.values.trajectory import Called, Event, Faulted, Kind, ModelFailed, Said, Thought
from demeanor.store.exports.atif import trajectory
from tests.helpers.runs import record

_TOP = {"schema_version", "session_id", "agent", "steps", "final_metrics", "extra"}
_AGENT_ONLY = {"model_name", "reasoning_content", "tool_calls", "metrics", "observation"}
_STEP = {"step_id", "source", "message", "extra", *_AGENT_ONLY}

TURN = st.integers(1, 3)
EVENTS = st.lists(
    st.one_of(
        st.builds(Said, turn=TURN, text=st.text(max_size=5)),
        st.builds(Thought, turn=TURN, text=st.text(max_size=5)),
        st.builds(
            Called,
            turn=TURN,
            id=st.sampled_from(["", "a", "b"]),
            tool=st.text(max_size=3),
            kind=st.sampled_from(Kind),
            arguments=st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
            result=st.none() | st.text(max_size=3),
            succeeded=st.none() | st.booleans(),
        ),
        st.builds(ModelFailed, turn=TURN, status=st.none(), reason=st.just("server"), message=st.text(max_size=3)),
        st.builds(Faulted, turn=TURN, kind=st.just("cut"), detail=st.text(max_size=3)),
    ),
    max_size=8,
)


def check(found: dict[str, Any]) -> None:
    """Check the rules of the format: only known keys, and references within a step."""
    assert set(found) <= _TOP
    assert found["schema_version"] == "ATIF-v1.7"
    assert [step["step_id"] for step in found["steps"]] == list(range(1, len(found["steps"]) + 1))
    assert found["steps"]
    for step in found["steps"]:
        assert set(step) <= _STEP
        assert step["source"] in {"system", "user", "agent"}
        assert isinstance(step["message"], str)
        assert step["source"] == "agent" or not _AGENT_ONLY & set(step)
        ids = [call["tool_call_id"] for call in step.get("tool_calls", ())]
        assert len(set(ids)) == len(ids)
        for result in step.get("observation", {}).get("results", ()):
            assert result["source_call_id"] in ids
            assert set(result) <= {"source_call_id", "content", "extra"}


@given(EVENTS)
def test_any_events_make_a_valid_trajectory_with_all_calls(events: list[Event]):
    """Including calls without a result, without an id, or with a repeated id."""
    found = trajectory(record(1), events)
    check(found)
    calls = [call for step in found["steps"] for call in step.get("tool_calls", ())]
    assert len(calls) == sum(isinstance(event, Called) for event in events)


def test_exchanges_add_prompts_and_usage():
    """And their cost."""
    exchange = Exchange(
        number=1,
        dialect="openai",
        request=Request(model="m", messages=(Message(role="user", parts=(Text(text="greet"),)),)),
        response=Response(parts=(), usage=Usage(input=7, output=2)),
        cost_usd=0.5,
    )
    found = trajectory(record(1), [Said(turn=1, text="hi")], [exchange])
    check(found)
    user, agent = found["steps"]
    assert (user["source"], user["message"], agent["message"]) == ("user", "greet", "hi")
    assert agent["metrics"] == {"prompt_tokens": 7, "completion_tokens": 2, "cost_usd": 0.5}
    assert found["final_metrics"] == {
        "total_prompt_tokens": 10, "total_completion_tokens": 5, "total_cost_usd": 0.25, "total_steps": 2,
    }  # fmt: skip
