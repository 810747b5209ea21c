"""The ability `calls`: it fails for each field of a call that an adapter records wrongly, or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from demeanor.commands.agents import conformance
from demeanor.core.values.evidence import Evidence, Spent
from demeanor.core.values.messages import Tool
from demeanor.core.values.trajectory import Aside, Called, Event, Kind, Said, Trajectory
from demeanor.core.values.verdict import Pass
from demeanor.define import discover
from demeanor.judge import judge
from tests.judge.helpers import no_command, tree

BIRD = "heron-8431\n"
TOOLS = {name: Tool(name=name, description="", schema={}) for name in ("view", "write", "task")}


def passes(ability: str, events: Sequence[Event]) -> bool:
    """Whether the events of a trial show the ability."""
    (suite,) = Path(conformance.__file__).parent.glob("eval_*.py")
    (found,) = (one for one in discover([str(suite)]) if one.name == ability)
    evidence = Evidence(
        trial=f"{ability}/a:m/1",
        trajectory=Trajectory(events=tuple(events), tools=TOOLS),
        before=tree(),
        after=tree(),
        spent=Spent(seconds=9.0),
    )
    return isinstance(judge(evidence, found, no_command), Pass)


def call(number: int, tool: str, kind: Kind, **fields: Any) -> Called:
    """A call that was recorded correctly."""
    common = {"turn": number, "id": f"c{number}", "succeeded": True, "at": float(number), "seconds": 0.5}
    return Called(**{**common, "tool": tool, "kind": kind, **fields})


READ = call(1, "view", Kind.READ, arguments={"path": "bird.txt"}, result=BIRD)
EDIT = call(2, "write", Kind.EDIT, arguments={"path": "copy.txt", "content": BIRD}, result="written")
FACT = replace(READ, id="c3", turn=1, arguments={"path": "fact.txt"}, by_sub_agent=True, sub_agent=1)
ANSWER = Said(turn=2, text="It says heron-8431")
TASK = (call(1, "task", Kind.OTHER, arguments={}), Aside(turn=1, purpose="sub-agent", sub_agent=1), FACT, ANSWER)


def test_calls_that_are_recorded_correctly_show_both_abilities() -> None:
    """So each wrong field below is why they are not shown."""
    assert passes("calls", (READ, EDIT))
    assert passes("sub-agents", TASK)
    viewed = replace(READ, tool="write", kind=Kind.EDIT, arguments={"command": "view", "path": "bird.txt"})
    assert passes("calls", (viewed, EDIT)), "the editor of OpenHands reads files, too"


@pytest.mark.parametrize(
    "wrong",
    [
        {"tool": "View the file"},
        {"arguments": {}},
        {"arguments": {"path": "other.txt"}},
        {"result": None},
        {"result": "ok"},
        {"succeeded": None},
        {"succeeded": False},
        {"kind": Kind.OTHER},
        {"kind": Kind.EDIT},
        {"id": ""},
        {"by_sub_agent": True, "sub_agent": 1},
        {"at": None},
        {"at": 3.0},
        {"seconds": 500.0},
        {"seconds": -0.5},
    ],
    ids=str,
)
def test_a_field_of_a_call_that_is_recorded_wrongly_is_noticed(wrong: dict[str, Any]) -> None:
    """Name, arguments, result, outcome, kind, id, sub-agent and time."""
    assert not passes("calls", (replace(READ, **wrong), EDIT))


def test_calls_in_another_order_are_noticed() -> None:
    """Also with times that fit it, and a call that is lost or doubled."""
    assert not passes("calls", (replace(EDIT, at=1.0), replace(READ, at=2.0)))
    assert not passes("calls", (EDIT,))
    assert not passes("calls", (READ, READ, EDIT))


def test_calls_of_a_sub_agent_that_are_recorded_as_the_agents_are_noticed() -> None:
    """And those that are not recorded."""
    assert not passes("sub-agents", (*TASK[:2], replace(FACT, by_sub_agent=False, sub_agent=0), ANSWER))
    assert not passes("sub-agents", (*TASK[:2], ANSWER))
