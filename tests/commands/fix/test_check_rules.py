"""A changed eval must not be weaker than before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from demeanor.commands.fix.check_rules import find_weakened, new_complaints, stricter
from demeanor.commands.fix.overfitting import EvalSource
from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import PriorMessage
from tests.commands.fix.test_overfitting import PORT_EVAL


def good(stage: object) -> None:
    """A behaviour."""


def bad(stage: object) -> None:
    """Another."""


OLD = EvalSource(eval=replace(PORT_EVAL.eval, passes_on=(good,), fails_on=(bad,)), source=PORT_EVAL.source)


def losses(new: EvalSource) -> list[str]:
    return [one.detail.partition(": ")[2] for one in find_weakened({"keeps_the_port": OLD}, {"keeps_the_port": new})]


CHANGES: dict[str, Eval] = {
    "the policy changed from USUALLY_PASSES to USUALLY_FAILS": replace(OLD.eval, policy=Policy.USUALLY_FAILS),
    "the number of checks fell from 3 to 2": replace(OLD.eval, checks=OLD.eval.checks[:2]),
    "a behaviour was removed from fails_on": replace(OLD.eval, fails_on=()),
    "a behaviour was removed from passes_on": replace(OLD.eval, passes_on=()),
    "it now accepts an agent that does nothing": replace(OLD.eval, does_nothing_passes=True),
    "the prompt or the prior messages changed": replace(
        OLD.eval, scenario=replace(OLD.eval.scenario, messages=(PriorMessage(role="user", text="Hi"),))
    ),
}


@pytest.mark.parametrize("detail", CHANGES)
def test_each_loss_is_reported(detail: str):
    """One loss at a time."""
    assert losses(EvalSource(eval=CHANGES[detail], source=OLD.source)) == [detail]


def test_asserts_are_counted_in_the_check_functions_only():
    """An additional assert elsewhere does not compensate."""
    fewer = OLD.source.replace("    assert EXPECTED in rig.final_text\n", "").replace(
        "def another(rig, result):\n", "def another(rig, result):\n    assert True\n"
    )
    assert losses(EvalSource(eval=OLD.eval, source=fewer)) == ["the number of asserts fell from 4 to 3"]


def test_a_change_that_removes_nothing_is_accepted():
    """A stricter eval is accepted too."""
    more = replace(OLD.eval, description="clearer", checks=(*OLD.eval.checks, OLD.eval.checks[-1]))
    assert losses(EvalSource(eval=more, source=OLD.source.replace("def another", "# clearer\ndef another"))) == []


def test_a_removed_eval_is_reported():
    """By its name."""
    assert [one.detail for one in find_weakened({"keeps_the_port": OLD}, {})] == [
        "keeps_the_port: the eval was removed"
    ]


def test_a_changed_eval_must_fail_on_what_the_old_one_failed_on():
    """Even if it declares that doing nothing is right."""
    new = replace(OLD.eval, fails_on=(), does_nothing_passes=True)
    made = stricter(OLD.eval, new)
    assert (made.fails_on, made.does_nothing_passes) == ((bad,), False)


def test_only_new_complaints_of_a_self_test_count():
    """Complaints about the old eval are ignored."""
    found = new_complaints(["unproven: x"], ["unproven: x", "vacuous: y"], OLD)
    assert [one.detail for one in found] == ["keeps_the_port: vacuous: y"]
