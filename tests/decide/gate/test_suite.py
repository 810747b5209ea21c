"""The error rates of a whole gate, and confirmation of rejections."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from demeanor.core.values.policy import Policy
from demeanor.decide.baseline import Baseline
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.effort import STANDARD
from demeanor.decide.gate.error_rates import applied_rates, gate_suite
from demeanor.decide.gate.frontier import average_rates
from demeanor.decide.gate.rules import gate, next_trials
from demeanor.decide.gate.suite import CellOdds, always_odds, suite_rates

ALWAYS, USUAL = Policy.ALWAYS_PASSES, Policy.USUALLY_PASSES
STEADY = Baseline(passed=57, failed=3, nights=20)


def cell(outcomes: str = "", policy: Policy = USUAL, *, name: str = "e", past: Baseline | None = STEADY) -> GateCell:
    trials = tuple(sign == "p" for sign in outcomes)
    return GateCell(eval=name, subject="a:m", policy=policy, outcomes=trials, past=past)


def answer(one: GateCell, *, confirm: int = 3) -> tuple[str, int]:
    (found,) = gate([one], confirm=confirm)
    return found.decision.answer, found.more


def test_150_cells_of_99_percent_block_almost_every_healthy_change_unless_it_is_confirmed() -> None:
    """Exactly 1 - 0.99^450 without confirmation."""
    found = [suite_rates([always_odds(0.99, cells=150)], confirm=confirm) for confirm in (0, 3)]
    assert found[0].blocks == pytest.approx(1 - 0.99**450)
    assert found[1].blocks == pytest.approx(0.124, abs=0.001)
    assert found[1].trials - found[0].trials == pytest.approx(13.2, abs=0.1)


@pytest.mark.parametrize("policy", [ALWAYS, USUAL])
def test_a_rejection_is_confirmed_by_a_failure_of_a_fresh_trial(policy: Policy) -> None:
    """If all fresh trials pass, the cell is accepted."""
    rejected = "pf" if policy is ALWAYS else "fff"
    assert answer(cell(rejected, policy), confirm=0) == ("reject", 0)
    assert answer(cell(rejected, policy)) == ("undecided", 3)
    assert answer(cell(rejected + "p", policy)) == ("undecided", 2)
    assert answer(cell(rejected + "pf", policy)) == ("reject", 0)
    assert answer(cell(rejected + "ppp", policy)) == ("accept", 0)
    assert answer(cell(rejected + "pppffff", policy)) == ("accept", 0)
    assert (
        "not confirmed: all 3 fresh trials passed"
        in gate([cell(rejected + "ppp", policy)], confirm=3)[0].decision.reason
    )


def play(rates: Sequence[tuple[Policy, float]], rng: random.Random, *, confirm: int) -> tuple[bool, int]:
    """Whether the gate blocks the change, and its trials. The history of a cell is drawn at its rate."""
    seen: list[list[bool]] = [[] for _ in rates]
    passed = [sum(rng.random() < rate for _ in range(60)) for _, rate in rates]
    pasts = [Baseline(passed=own, failed=60 - own, nights=20) for own in passed]
    while True:
        cells = [
            GateCell(eval=f"e{i}", subject="a:m", policy=policy, outcomes=tuple(seen[i]), past=pasts[i])
            for i, (policy, _) in enumerate(rates)
        ]
        found: tuple[GateAnswer, ...] = gate(cells, confirm=confirm)
        if not next_trials(found):
            return any(one.decision.answer == "reject" for one in found), sum(map(len, seen))
        for i, one in enumerate(found):
            seen[i] += [rng.random() < rates[i][1] for _ in range(one.more)]


@pytest.mark.parametrize("confirm", [0, 3])
def test_a_simulation_agrees(confirm: int) -> None:
    """With cells of both policies; trials that run together may be a few more than needed."""
    rng, rounds = random.Random(3), 600
    rates = [(ALWAYS, 0.97)] * 4 + [(USUAL, 0.9)] * 4
    (usual,) = average_rates((0.9,), past=60, base=0.9, effort=STANDARD)
    odds = [always_odds(0.97, cells=4), CellOdds(healthy=usual, cells=4)]
    expected = suite_rates(odds, confirm=confirm)
    played = [play(rates, rng, confirm=confirm) for _ in range(rounds)]
    assert sum(blocked for blocked, _ in played) / rounds == pytest.approx(expected.blocks, abs=0.05)
    assert expected.trials - 0.5 <= sum(trials for _, trials in played) / rounds <= expected.trials + 4


def test_the_report_states_the_rates_of_the_suite_and_proposes_confirmation() -> None:
    """Only if healthy changes are blocked often."""
    many = gate(
        [cell(name=f"a{i}", policy=ALWAYS, past=None) for i in range(75)] + [cell(name=f"u{i}") for i in range(75)]
    )
    found = gate_suite(many, confirm=0)
    assert found is not None
    first, second = found.sentences()
    assert first.startswith(
        "With 150 cells at the rates of their histories, this gate blocks a healthy change in 94 % of"
    )
    assert "by a sixth (95 to 80 %) with probability 24 %, by almost a half (95 to 50 %) with 85 %" in first
    assert second.startswith(
        "Set `confirm = 3` in [gate] to block a healthy change in 13 % of cases, for 8.1 more trials"
    )
    few = gate_suite([many[0], many[-1]], confirm=0)
    assert few is not None
    assert len(few.sentences()) == 1
    assert gate_suite(gate([cell(policy=Policy.USUALLY_FAILS)]), confirm=0) is None
    assert "confirmed by a failure among 3 fresh trials" in applied_rates(many, effort=STANDARD, confirm=3)[0].about


def test_cells_without_nights_count_as_well() -> None:
    """With the error rates of two of three, which does not hide behind those of the plans."""
    cells = [cell(name="known"), cell(name="new", past=None), cell("ff", name="fell", past=None)]
    answers = gate(cells, confirm=3)
    assert (answers[2].decision.answer, answers[2].more) == ("undecided", 3)
    rules = [one.rule for one in applied_rates(answers, effort=STANDARD, confirm=3)]
    assert rules == ["optimal standard", "two_of_three"]
    suite, alone = gate_suite(answers, confirm=0), gate_suite(answers[1:], confirm=0)
    assert suite is not None
    assert alone is not None
    assert (suite.now.cells, alone.now.blocks) == (3, pytest.approx(1 - (1 - 0.00725) ** 2))
