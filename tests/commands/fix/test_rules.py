"""Is it mended?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from demeanor.commands.fix.rules import guard_suite, standing
from demeanor.core.policy import Policy
from demeanor.core.tally import Decision
from tests.commands.fix.test_overfitting import EXAM


@pytest.mark.parametrize(
    ("answers", "found"),
    [
        ("accept accept", "accept"),
        ("accept skipped", "accept"),
        ("accept undecided", "undecided"),
        ("undecided reject accept", "reject"),
        ("skipped", "undecided"),
        ("", "undecided"),
    ],
)
def test_one_reject_is_enough_and_nothing_is_no_proof(answers: str, found: str):
    """Skipped cells say nothing."""
    decisions = [Decision(answer=answer, rule="r", reason="") for answer in answers.split()]  # type: ignore[arg-type]
    assert standing(decisions) == found


def test_the_guard_suite_is_made_of_other_evals():
    """By policy, or by name."""
    evals = [replace(EXAM.eval, name=policy.value, policy=policy) for policy in Policy]
    assert guard_suite(evals, "always", but=["x"]) == ("ALWAYS_PASSES",)
    assert guard_suite(evals, "always", but=["ALWAYS_PASSES"]) == ()
    assert guard_suite(evals, "all", but=[]) == ("ALWAYS_PASSES", "USUALLY_PASSES")
    assert guard_suite(evals, "none", but=[]) == ()
    assert guard_suite(evals, ("a", "b"), but=["b"]) == ("a",)
