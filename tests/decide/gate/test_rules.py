from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from demeanor.core.values.error_rates import RATES
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Tally
from demeanor.decide import decide, exit_code
from demeanor.decide.gate import always, check_in
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.rules import error_rates, gate, next_trials
from demeanor.decide.nights.baseline import Baseline
from tests.helpers.reference_rules import passes_the_gate

STEADY = Baseline(passed=57, failed=3, nights=20)


def cell(
    outcomes: Sequence[int] = (),
    *,
    name: str = "e",
    policy: Policy = Policy.USUALLY_PASSES,
    past: Baseline | None = STEADY,
    subject: str = "a:m",
    **more: object,
) -> GateCell:
    return GateCell(
        eval=name,
        subject=subject,
        policy=policy,
        outcomes=tuple(map(bool, outcomes)),
        past=past,
        **more,  # type: ignore[arg-type]
    )


def answer(one: GateCell) -> GateAnswer:
    return gate([one])[0]


def test_a_cell_without_nights_must_pass_two_of_three() -> None:
    """As the reference does, for all outcomes of three trials; with nights, the cell follows its plan."""
    for outcomes in itertools.product([0, 1], repeat=3):
        found = answer(cell(outcomes, past=None))
        assert (found.decision.answer == "accept") is passes_the_gate(list(map(bool, outcomes)))
        assert found.decision.rule == "two_of_three"
    assert answer(cell([1, 1, 1])).decision.rule == "optimal"


@pytest.mark.parametrize("past", [None, STEADY])
def test_a_void_is_a_failure_in_doubt(past: Baseline | None) -> None:
    """A cell that passes whenever it is judged is not accepted if its voids could be failures that are too many."""
    doubted = answer(cell([1, 1, 1], past=past, worst=(False, True, False, True, False, True, False)))
    assert doubted.decision.answer == "undecided"
    assert "may be the agent's doing" in doubted.decision.reason
    assert answer(cell([1, 1, 1], past=past, worst=(True,) * 3)).decision.answer == "accept"
    always = answer(cell([1, 1, 1], policy=Policy.ALWAYS_PASSES, worst=(True, False, True, True)))
    assert (always.decision.answer, always.more) == ("undecided", 0)


def test_the_check_in_rule_is_that_of_a_run() -> None:
    """For all outcomes of three trials, by the same name; fresh trials do not change it."""
    for outcomes in itertools.product([0, 1], repeat=3):
        tally = Tally(
            eval="e", subject="a:m", policy=Policy.USUALLY_PASSES, passed=sum(outcomes), failed=3 - sum(outcomes)
        )
        (found,) = gate([cell(outcomes, checked_in=True)], confirm=3)
        judged = decide(tally)
        assert (found.decision.answer, found.decision.rule) == (judged.answer, judged.rule)


def test_two_of_three_never_asks_for_a_trial_that_cannot_change_the_answer() -> None:
    """Two passes, or two failures, are enough."""
    seen: list[list[int]] = [[], [1], [0], [1, 0], [1, 1], [0, 0]]
    assert [answer(cell(outcomes, past=None)).more for outcomes in seen] == [2, 1, 2, 1, 0, 0]


@pytest.mark.parametrize("past", [None, STEADY])
def test_always_passes_must_pass_every_time(past: Baseline | None) -> None:
    """One failure rejects at once; fewer than three judged trials decide nothing."""
    policy = Policy.ALWAYS_PASSES
    assert answer(cell([1, 1, 1], policy=policy, past=past)).decision.answer == "accept"
    assert answer(cell([1, 0], policy=policy, past=past)).decision.answer == "reject"
    open_cell = answer(cell([1, 1], policy=policy, past=past, voided=2))
    assert (open_cell.decision.answer, open_cell.more) == ("undecided", 1)
    given_up = answer(cell([1, 1], policy=policy, past=past, voided=4))
    assert (given_up.decision.answer, given_up.more) == ("undecided", 0)


@pytest.mark.parametrize("past", [None, STEADY])
def test_undecided_has_its_own_exit_code_and_reject_beats_it(past: Baseline | None) -> None:
    """USUALLY_FAILS evals and subjects that are not key subjects never block."""
    void, fine = cell([], past=past, voided=9), cell([1, 1, 1], name="f", past=past)
    bad = cell([0, 1], name="b", policy=Policy.ALWAYS_PASSES)
    aside = [cell([0, 0, 0], name="k", policy=Policy.USUALLY_FAILS), cell([0, 0, 0], name="s", key=False)]
    assert exit_code(answer.decision for answer in gate([fine, *aside])) is ExitCode.ACCEPTED
    assert exit_code(answer.decision for answer in gate([fine, void, *aside])) is ExitCode.UNDECIDED
    assert exit_code(answer.decision for answer in gate([fine, void, bad])) is ExitCode.REJECTED


def test_the_same_trials_are_weaker_evidence_for_an_unreliable_eval() -> None:
    """Each eval is compared with its own history."""
    outcomes = [0, 1, 0, 0]
    assert answer(cell(outcomes)).decision.answer == "reject"
    unreliable = answer(cell(outcomes, past=Baseline(passed=36, failed=24, nights=20)))
    assert unreliable.decision.answer != "reject"


def test_a_history_with_several_fingerprints_is_reported() -> None:
    """It is never averaged silently."""
    past = Baseline(passed=57, failed=3, nights=20, fingerprints=("f1", "f2"))
    assert "with 2 different fingerprints" in answer(cell([0, 0, 0], past=past)).decision.reason


SUITES = st.lists(
    st.builds(
        lambda outcomes, passed, known, voided, always: (outcomes, passed if known else None, voided, always),
        st.lists(st.booleans(), max_size=13),
        st.integers(0, 60),
        st.booleans(),
        st.integers(0, 5),
        st.integers(0, 3).map(lambda number: number == 0),
    ),
    min_size=1,
    max_size=6,
)
"""Outcomes, passes in a history of 60 (None without one), voids, and whether it must always pass; for each cell."""


def suite_of(drawn: Sequence[tuple[list[bool], int | None, int, bool]]) -> list[GateCell]:
    """Two evals on three subjects each."""
    return [
        cell(
            outcomes,
            name=f"e{i // 3}",
            subject=f"a:m{i % 3}",
            policy=Policy.ALWAYS_PASSES if must else Policy.USUALLY_PASSES,
            past=None if passed is None else Baseline(passed=passed, failed=60 - passed, nights=20),
            voided=voided,
        )
        for i, (outcomes, passed, voided, must) in enumerate(drawn)
    ]


@pytest.mark.parametrize("confirm", [0, 2])
@given(drawn=SUITES, data=st.data())
def test_an_answer_never_changes_with_further_trials(
    confirm: int, drawn: list[tuple[list[bool], int | None, int, bool]], data: st.DataObject
) -> None:
    """The basis for stopping early: whatever the trials of any cell still show, accept and reject are final."""
    cells = suite_of(drawn)
    before = [one.decision.answer for one in gate(cells, confirm=confirm)]
    further = st.lists(st.booleans(), max_size=13)
    later = [  # a cell that was given up gets no more trials
        one if always.given_up(one) else replace(one, outcomes=(*one.outcomes, *data.draw(further))) for one in cells
    ]
    after = [one.decision.answer for one in gate(later, confirm=confirm)]
    for old, new in zip(before, after, strict=True):
        assert old in {"undecided", new}


@pytest.mark.parametrize("confirm", [0, 2])
@given(drawn=SUITES, more=st.integers(1, 9), place=st.integers(0, 5))
def test_voids_never_turn_a_rejection_into_undecided(
    confirm: int, drawn: list[tuple[list[bool], int | None, int, bool]], more: int, place: int
) -> None:
    """Of this cell or of any other one."""
    cells = suite_of(drawn)
    at = place % len(cells)
    voided = [replace(one, voided=one.voided + more) if i == at else one for i, one in enumerate(cells)]
    before, after = (gate(some, confirm=confirm) for some in (cells, voided))
    for old, new in zip(before, after, strict=True):
        assert old.decision.answer != "reject" or new.decision.answer == "reject"


def test_a_small_budget_goes_to_the_most_doubtful() -> None:
    """A cell without trials comes before one that is nearly decided; the budget is never exceeded."""
    answers = gate([cell([0, 1, 1, 1, 1, 1, 1], name="settling"), cell([], name="new")])
    assert next_trials(answers, budget=3) == {"new/a:m": 3}
    assert sum(next_trials(answers, budget=4).values()) == 4
    assert next_trials(answers, budget=0) == {}


def test_error_rates_are_the_published_ones() -> None:
    """Exactly."""
    every_trial, standard, thorough, two_of_three = error_rates()
    assert two_of_three.at(0.95).chance == pytest.approx(0.00725)
    assert 1 - two_of_three.at(0.8).chance == pytest.approx(0.896)
    assert standard.at(0.95).chance < 0.01
    assert 1 - standard.at(0.5).chance < 0.2
    assert 1 - thorough.at(0.5).chance < 0.021
    assert every_trial.at(0.95).chance == pytest.approx(1 - 0.95**3)
    assert {row.rate for row in standard.rows} == set(RATES)
    assert check_in.cell_rates().healthy == two_of_three.at(0.95)
