"""What a changed eval must not have lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from demeanor.commands.fix.eval_weakening import harder, lost, new_complaints
from demeanor.commands.fix.overfitting import EvalSource
from demeanor.core.eval import Eval
from demeanor.core.policy import Policy
from demeanor.core.scenario import PriorMessage
from tests.commands.fix.test_overfitting import EXAM


def good(stage: object) -> None:
    """A behaviour."""


def bad(stage: object) -> None:
    """Another."""


OLD = EvalSource(eval=replace(EXAM.eval, passes_on=(good,), fails_on=(bad,)), source=EXAM.source)


def told(new: EvalSource) -> list[str]:
    return [one.detail.partition(": ")[2] for one in lost({"keeps_the_port": OLD}, {"keeps_the_port": new})]


CHANGES: dict[str, Eval] = {
    "its policy was USUALLY_PASSES and is USUALLY_FAILS": replace(OLD.eval, policy=Policy.USUALLY_FAILS),
    "it had 3 checks and has 2": replace(OLD.eval, checks=OLD.eval.checks[:2]),
    "it lost a behaviour of fails_on": replace(OLD.eval, fails_on=()),
    "it lost a behaviour of passes_on": replace(OLD.eval, passes_on=()),
    "an agent that does nothing may pass it now": replace(OLD.eval, does_nothing_passes=True),
    "it asks the agent for something else": replace(
        OLD.eval, scenario=replace(OLD.eval.scenario, messages=(PriorMessage(role="user", text="Hi"),))
    ),
}


@pytest.mark.parametrize("detail", CHANGES)
def test_what_an_eval_has_lost_is_told(detail: str):
    """One thing at a time."""
    assert told(EvalSource(eval=CHANGES[detail], source=OLD.source)) == [detail]


def test_asserts_are_counted_in_its_own_function_only():
    """One more elsewhere makes up for nothing."""
    fewer = OLD.source.replace("    assert EXPECTED in rig.final_text\n", "").replace(
        "def another(rig, result):\n", "def another(rig, result):\n    assert True\n"
    )
    assert told(EvalSource(eval=OLD.eval, source=fewer)) == ["its check had 4 asserts and has 3"]


def test_what_loses_nothing_may_be_changed():
    """An eval may ask for more, too."""
    more = replace(OLD.eval, description="clearer", checks=(*OLD.eval.checks, OLD.eval.checks[-1]))
    assert told(EvalSource(eval=more, source=OLD.source.replace("def another", "# clearer\ndef another"))) == []


def test_an_eval_that_is_gone_is_told():
    """Whatever became of the others."""
    assert [one.detail for one in lost({"keeps_the_port": OLD}, {})] == ["keeps_the_port: the eval is gone"]


def test_a_changed_eval_must_fail_on_what_the_old_one_failed_on():
    """Also where it says of itself that doing nothing is right."""
    new = replace(OLD.eval, fails_on=(), does_nothing_passes=True)
    stricter = harder(OLD.eval, new)
    assert (stricter.fails_on, stricter.does_nothing_passes) == ((bad,), False)


def test_only_new_complaints_of_a_self_test_count():
    """What was wrong before is nobody's doing."""
    found = new_complaints(["unproven: x"], ["unproven: x", "vacuous: y"], OLD)
    assert [one.detail for one in found] == ["keeps_the_port: vacuous: y"]
