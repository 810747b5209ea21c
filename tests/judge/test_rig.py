"""The rig: the evidence of a trial, as a check sees it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from demeanor import Rig
from demeanor.core.values.evidence import Spent
from demeanor.core.values.process import Output, ProcessEnd
from demeanor.core.values.trajectory import Asked, Faulted, Kind
from demeanor.judge.unknowable import Unknowable
from tests.judge.helpers import called, evidence, no_command, rig


def end(code: int | None, out: str = "", err: str = "") -> ProcessEnd:
    return ProcessEnd(exit_code=code, stdout=Output(text=out), stderr=Output(text=err))


def test_texts_are_in_order():
    """All that was said, and what was said last."""
    found = rig("First.", called("grep"), "Last.")
    assert found.said == ("First.", "Last.")
    assert found.final_text == "Last."


def test_the_output_of_a_program_replaces_a_missing_text():
    """An agent without a model or a log says what it prints."""
    assert rig(ends=(end(0, "first"), end(0, "It is done.\n"))).final_text == "It is done."
    assert rig().final_text == ""


def test_a_log_of_events_on_stdout_is_not_a_message():
    """Tool results in it are not what the agent said."""
    printed = end(0, '{"type": "tool_result", "output": "8431"}')
    assert Rig(replace(evidence(ends=(printed,)), prints_events=True), no_command).final_text == ""


def test_the_exit_of_every_program_is_available():
    """The last exit code; the output of all."""
    found = rig(ends=(end(1, "a", "x"), end(0, "b", "y")))
    assert (found.exit_code, found.stdout, found.stderr) == (0, "ab", "xy")
    assert rig().exit_code is None


def test_spending_is_available():
    """Turns, tokens, money, time; None where unknown."""
    spent = Spent(seconds=2.5, turns=3, input_tokens=10, output_tokens=5, cost_usd=0.25)
    found = rig(spent=spent)
    assert (found.turns, found.tokens, found.cost_usd, found.seconds) == (3, 15, 0.25, 2.5)
    unknown = rig(spent=Spent())
    assert (unknown.tokens, unknown.cost_usd) == (None, None)


def test_turns_of_an_incomplete_trajectory_are_a_lower_bound():
    """Two turns were seen; there may have been more."""
    found = rig("a", "b", gaps=("lost",))
    assert found.turns >= 2
    with pytest.raises(Unknowable):
        _ = found.turns <= 5


def test_faults_are_in_order():
    """What was injected, and nothing else that happened."""
    faults = (Faulted(turn=1, kind="cut", detail="cut@1"), Faulted(turn=2, kind="500", detail="500@2"))
    known = evidence("Hi.")
    story = replace(known.trajectory, events=(faults[0], *known.trajectory.events, faults[1]))
    assert Rig(replace(known, trajectory=story), no_command).faults == faults
    assert rig("Hi.").faults == ()


def test_everything_else_is_within_reach():
    """The trajectory and the notes, for checks that need more."""
    known = evidence("Hi.", notes=("a daemon was left behind",))
    found = Rig(known, no_command)
    assert found.trajectory is known.trajectory
    assert found.notes == ("a daemon was left behind",)
    assert repr(found) == "<rig of eval/subject/1>"


def test_permission_requests_are_known_where_the_agent_reports_them():
    """That there was none is known only where the agent reports each."""
    asked = Asked(turn=1, id="1", tool="shell", kind=Kind.EXECUTE, answer="deny")
    known = evidence("Hi.")
    story = replace(known.trajectory, events=(asked, *known.trajectory.events), requests_told=True)
    assert Rig(replace(known, trajectory=story), no_command).permissions == (asked,)
    assert Rig(replace(known, trajectory=replace(story, events=())), no_command).permissions == ()
    with pytest.raises(Unknowable, match="does not report its requests"):
        _ = rig("Hi.").permissions
