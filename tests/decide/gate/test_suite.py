"""The error rates of a whole gate, and confirmation of rejections."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from demeanor.core.policy import Policy
from demeanor.decide.baseline import Baseline
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.effort import STANDARD
from demeanor.decide.gate.error_rates import applied_rates, gate_suite
from demeanor.decide.gate.frontier import average_rates
from demeanor.decide.gate.rules import gate, next_trials, rule_named
from demeanor.decide.gate.suite import CellOdds, always_odds, suite_rates

ALWAYS, USUAL = Policy.ALWAYS_PASSES, Policy.USUALLY_PASSES


def cell(outcomes: str = "", policy: Policy = USUAL, *, name: str = "e", past: Baseline | None = None) -> GateCell:
    trials = tuple(sign == "p" for sign in outcomes)
    return GateCell(eval=name, subject="a:m", policy=policy, outcomes=trials, past=past)


def answer(one: GateCell, *, confirm: int = 3, rule: str = "optimal") -> tuple[str, int]:
    (found,) = gate([one], confirm=confirm, rule=rule)
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
    """Whether the gate blocks the change, and its trials."""
    seen: list[list[bool]] = [[] for _ in rates]
    while True:
        cells = [
            GateCell(eval=f"e{i}", subject="a:m", policy=policy, outcomes=tuple(seen[i]))
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
    (usual,) = average_rates((0.9,), past=0, base=0.9, effort=STANDARD)
    odds = [always_odds(0.97, cells=4), CellOdds(healthy=usual, cells=4)]
    expected = suite_rates(odds, confirm=confirm)
    played = [play(rates, rng, confirm=confirm) for _ in range(rounds)]
    assert sum(blocked for blocked, _ in played) / rounds == pytest.approx(expected.blocks, abs=0.05)
    assert expected.trials - 0.5 <= sum(trials for _, trials in played) / rounds <= expected.trials + 4


def test_the_report_states_the_rates_of_the_suite_and_proposes_confirmation() -> None:
    """Only if healthy changes are blocked often."""
    many = gate([cell(name=f"e{i}", policy=ALWAYS if i % 2 else USUAL) for i in range(150)])
    found = gate_suite(many, rule="optimal", confirm=0)
    assert found is not None
    first, second = found.sentences()
    assert first.startswith(
        "With 150 cells at the rates of their histories, this gate blocks a healthy change in 94 % of"
    )
    assert "by a sixth (95 to 80 %) with probability 24 %, by almost a half (95 to 50 %) with 85 %" in first
    assert second.startswith(
        "Set `confirm = 3` in [gate] to block a healthy change in 13 % of cases, for 8.1 more trials"
    )
    few = gate_suite(many[:2], rule="optimal", confirm=0)
    assert few is not None
    assert len(few.sentences()) == 1
    assert gate_suite(many, rule="screen", confirm=0) is None
    assert (
        "confirmed by a failure among 3 fresh trials"
        in applied_rates(many, rule="optimal", effort=STANDARD, confirm=3)[0].about
    )


@pytest.mark.parametrize("rule", ["screen", "classic"])
def test_the_rates_of_every_rule_are_those_of_the_cells_own_histories(rule: str) -> None:
    """A cell that passes 74 % of the time is not described by one that passes 95 %."""
    unreliable, steady = (Baseline(passed=passed, failed=60 - passed, nights=20) for passed in (42, 57))
    cells = [cell(name=name, past=past) for name, past in (("a", unreliable), ("b", unreliable), ("c", steady))]
    found = applied_rates(gate(cells, rule=rule), rule=rule, effort=STANDARD)
    assert [(one.rows[0].rate, one.setting.split(" of")[0]) for one in found] == [
        (0.74, "2 cells with 60 trials"),
        (0.95, "1 cell with 60 trials"),
    ]
    expected = rule_named(rule).error_rates([0.74], base=0.74, past=60).rows[0]
    assert found[0].rows[0] == expected
