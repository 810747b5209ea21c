"""Verifications compared: cells before and after, reasons, and notes about chance."""

from __future__ import annotations

from dataclasses import replace

from demeanor.commands.fix.verify import (
    Verification,
    chance_notes,
    compare_cells,
    failing_cells,
    still_failing,
    why_not_accepted,
)
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Decision, Tally


def verification(*cells: tuple[str, int, int, str], stopped: str | None = None) -> Verification:
    """Cells as name, passed, failed and decision."""
    found = tuple(
        (
            Tally(eval=name, subject="a:m", policy=Policy.USUALLY_PASSES, passed=passed, failed=failed, voided=0),
            Decision(answer=answer, rule="r", reason=f"{passed} passed"),  # type: ignore[arg-type]
        )
        for name, passed, failed, answer in cells
    )
    return Verification(found=found, records=(), stopped=stopped, notes=())


def test_cells_have_the_scores_before_and_after_with_a_p_value():
    """Skipped cells are left out; without a second verification there is no p-value."""
    before = verification(("a", 0, 3, "reject"), ("b", 3, 0, "accept"))
    after = verification(("a", 3, 0, "accept"), ("c", 0, 0, "skipped"))
    (cell,) = compare_cells(before, after)
    assert cell.before is not None
    assert cell.after is not None
    assert (cell.eval, cell.before.passed, cell.after.passed) == ("a", 0, 3)
    assert cell.p_value is not None
    assert cell.p_value < 0.05
    assert [(one.eval, one.after, one.p_value) for one in compare_cells(before)] == [
        ("a", None, None),
        ("b", None, None),
    ]
    assert compare_cells(None) == ()


def test_the_reasons_name_every_cell_that_is_not_accepted():
    """And why the run was stopped; without any cell there is a reason too."""
    found = verification(("a", 0, 3, "reject"), ("b", 3, 0, "accept"), stopped="the budget is spent")
    assert why_not_accepted(found) == "a on a:m: 0 passed; the budget is spent"
    assert why_not_accepted(verification()) == "no trial could be run"


def test_a_tolerated_failure_is_fixed_only_if_no_trial_fails_any_more():
    """Two of three before and after are accepted by the policy, and nothing is better."""
    before = verification(("a", 2, 1, "accept"), ("b", 0, 3, "reject"), ("c", 3, 0, "accept"))
    assert list(failing_cells(before)) == [("a", "a:m"), ("b", "a:m")]
    after = verification(("a", 2, 1, "accept"), ("b", 2, 1, "accept"), ("c", 2, 1, "accept"))
    assert still_failing(before, after) == "a on a:m: still fails in 1 of 3 trials"
    assert still_failing(before, verification(("a", 3, 0, "accept"))) == ""
    (cell, decision), *_ = verification(("a", 2, 0, "accept")).found
    void = replace(after, found=((replace(cell, voided=1), decision),))
    assert still_failing(before, void) == "a on a:m: still fails in 1 of 3 trials, of which 1 void"


def test_an_increase_that_may_be_chance_gets_a_note():
    """One trial before and one after show little; three each show more."""
    few = compare_cells(verification(("a", 0, 1, "reject")), verification(("a", 1, 0, "accept")))
    more = compare_cells(verification(("a", 0, 3, "reject")), verification(("a", 3, 0, "accept")))
    (note,) = chance_notes(few)
    assert "chance alone could well explain the rise (p = 0.25)" in note
    assert chance_notes(more) == []
