"""`rig.main` and `rig.sub_agents`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from demeanor import Rig
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.trajectory import Aside, Called, Concluded, Kind, Said, Trajectory
from demeanor.judge.agents_view import NoSuchSubAgent
from demeanor.judge.unknowable import Unknowable
from tests.judge.helpers import no_command

START = Called(turn=1, id="c1", tool="task", kind=Kind.OTHER, arguments={"prompt": "Look."})
LOOK = Called(turn=1, id="c1", tool="read", kind=Kind.READ, arguments={}, by_sub_agent=True, sub_agent=1)
FIRST = Aside(turn=1, purpose="sub-agent", sub_agent=1, prompt="Look.", started_by="c1")
REPORT = Aside(turn=1, purpose="sub-agent", sub_agent=1, said="Found it.")
NOTE = Called(turn=2, id="c9", tool="write", kind=Kind.EDIT, arguments={}, by_sub_agent=True, sub_agent=2)
MEMORY = Aside(turn=2, purpose="memory", sub_agent=2, said="Nothing.")
DONE = Said(turn=2, text="Done.")
EVENTS = (START, FIRST, LOOK, REPORT, DONE, MEMORY, NOTE)


def rig(*events: object, **fields: object) -> Rig:
    """The rig of a trial with these events."""
    trajectory = replace(Trajectory(events=tuple(events)), **fields)  # type: ignore[arg-type]
    return Rig(Evidence(trial="e/a:m/1", trajectory=trajectory), no_command)


def test_the_agent_itself():
    """Its calls and messages, without those of others."""
    found = rig(*EVENTS)
    assert found.main.calls.names == ("task",)
    assert (found.main.said, found.main.final_text) == (("Done.",), "Done.")
    assert found.calls.by_sub_agents().names == ("read", "write")
    assert found.calls.by_main().names == ("task",)
    assert found.calls.names == ("task", "read", "write")


def test_a_sub_agent():
    """Its task, its calls, its report and the call that started it; work on the agent's memory is not a sub-agent."""
    (helper,) = rig(*EVENTS).sub_agents
    assert (helper.number, helper.prompt, helper.turns) == (1, "Look.", 2)
    assert (helper.said, helper.final_text) == (("Found it.",), "Found it.")
    assert helper.calls.names == ("read",)
    assert helper.started_by == START


def test_sub_agents_are_counted():
    """True if there is one; an index that does not exist fails the check."""
    found = rig(*EVENTS).sub_agents
    assert (bool(found), len(found), found.count(), found[0].number, found[0:][0].number) == (True, 1, 1, 1, 1)
    assert not rig(DONE).sub_agents
    with pytest.raises(NoSuchSubAgent, match=r"no sub_agents\[0\]: <sub-agents: 0>"):
        _ = rig(DONE).sub_agents[0]


@pytest.mark.parametrize("gaps", [{"gaps": ("lost",)}, {"sub_agent_gaps": ("lost",)}])
def test_missing_sub_agents_prove_nothing_if_the_record_is_incomplete(gaps: dict[str, tuple[str, ...]]):
    """A recorded one is proof."""
    found = rig(*EVENTS, **gaps).sub_agents
    assert found
    assert found.count() >= 1
    assert found[0].number == 1
    for question in (len, list, lambda agents: agents[1], lambda agents: agents[-1]):
        with pytest.raises(Unknowable):
            question(found)
    with pytest.raises(Unknowable):
        bool(rig(DONE, **gaps).sub_agents)


def test_the_result_that_the_log_names_is_the_final_text():
    """Even if another message was recorded later."""
    found = rig(Said(turn=1, text="Done."), Said(turn=2, text="Nothing."), Concluded(turn=1, text="Done."))
    assert (found.final_text, found.main.final_text) == ("Done.", "Done.")
