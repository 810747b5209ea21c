"""The error rates of a whole gate, and confirmation of rejections."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from demeanor.core.values.error_rates import Operating
from demeanor.core.values.policy import Policy
from demeanor.decide.gate import always
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.effort import STANDARD
from demeanor.decide.gate.error_rates import applied_rates, gate_suite
from demeanor.decide.gate.frontier import operating, plan_after
from demeanor.decide.gate.rules import gate, next_trials
from demeanor.decide.gate.suite import CellOdds, suite_rates
from demeanor.decide.nights.baseline import Baseline
from demeanor.statistics import table

ALWAYS, USUAL = Policy.ALWAYS_PASSES, Policy.USUALLY_PASSES
STEADY = Baseline(passed=57, failed=3, nights=20)


def cell(outcomes: str = "", policy: Policy = USUAL, *, name: str = "e", past: Baseline | None = STEADY) -> GateCell:
    trials = tuple(sign == "p" for sign in outcomes)
    return GateCell(eval=name, subject="a:m", policy=policy, outcomes=trials, past=past)


def answer(one: GateCell, *, confirm: int = 3) -> tuple[str, int]:
    (found,) = gate([one], confirm=confirm)
    return found.decision.answer, found.more


def always_odds(rate: float, cells: int, *, confirm: int) -> CellOdds:
    return CellOdds(healthy=operating(always.verdict, rate, cap=always.TRIALS, confirm=confirm), cells=cells)


def test_150_cells_of_99_percent_block_almost_every_healthy_change_unless_it_is_confirmed() -> None:
    """Exactly 1 - 0.99^450 without confirmation."""
    found = [suite_rates([always_odds(0.99, 150, confirm=confirm)], confirm=confirm) for confirm in (0, 3)]
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
    plans = [(weight, plan_after(passed, 60 - passed, STANDARD)) for passed, weight in enumerate(table(60, 0.9))]
    usual = [(weight, operating(plan.stop, 0.9, cap=plan.cap, confirm=confirm)) for weight, plan in plans]
    chance = sum(weight * one.chance for weight, one in usual)
    trials = sum(weight * (one.trials or 0.0) for weight, one in usual)
    odds = [
        always_odds(0.97, 4, confirm=confirm),
        CellOdds(healthy=Operating(rate=0.9, chance=chance, trials=trials), cells=4),
    ]
    expected = suite_rates(odds, confirm=confirm)
    played = [play(rates, rng, confirm=confirm) for _ in range(rounds)]
    assert sum(blocked for blocked, _ in played) / rounds == pytest.approx(expected.blocks, abs=0.05)
    assert expected.trials - 0.5 <= sum(trials for _, trials in played) / rounds <= expected.trials + 4


def test_the_report_states_the_rates_of_the_suite_and_proposes_confirmation() -> None:
    """Only if healthy changes are blocked often."""
    good = Baseline(passed=60, failed=0, nights=20)
    always = [cell(name=f"a{i}", policy=ALWAYS, past=STEADY if i < 15 else good) for i in range(75)]
    many = gate([*always, *(cell(name=f"u{i}") for i in range(75))])
    found = gate_suite(many, confirm=0)
    assert found is not None
    first, second = found.sentences()
    assert first.startswith("With 150 cells at the rates of their nights, this gate blocks a healthy change in 9")
    assert "by a sixth (95 to 80 %) with probability 24 %, by almost a half (95 to 50 %) with 85 %" in first
    assert second.startswith("Set `confirm = 3` in [gate] to block a healthy change in ")
    few = gate_suite([many[0], many[-1]], confirm=3)
    assert few is not None
    assert len(few.sentences()) == 1
    assert gate_suite(gate([cell(policy=Policy.USUALLY_FAILS)]), confirm=0) is None
    assert "confirmed by a failure among 3 fresh trials" in applied_rates(many, effort=STANDARD, confirm=3)[0].about


def blocks(rate: float, rng: random.Random, *, cells: int, nights: int, policy: Policy) -> tuple[float, float]:
    """What the report states for healthy cells of one rate, and the truth for their plans."""
    pasts = [sum(rng.random() < rate for _ in range(3 * nights)) for _ in range(cells)]
    answers = gate(
        [
            cell("ppp", policy, name=f"e{i}", past=Baseline(passed=own, failed=3 * nights - own, nights=nights))
            for i, own in enumerate(pasts)
        ]
    )
    found = gate_suite(answers, confirm=3)
    assert found is not None
    healthy = 1.0
    for own in pasts:
        plan = plan_after(own, 3 * nights - own, STANDARD)
        stop, cap = (always.verdict, always.TRIALS) if policy is ALWAYS else (plan.stop, plan.cap)
        healthy *= 1 - operating(stop, rate, cap=cap, confirm=3).chance
    return found.now.blocks, 1 - healthy


@pytest.mark.parametrize("policy", [ALWAYS, USUAL])
@pytest.mark.parametrize("rate", [0.999, 0.97, 0.9, 0.7])
@pytest.mark.parametrize("cells", [20, 150])
def test_the_stated_rate_is_that_of_the_suite(cells: int, rate: float, policy: Policy) -> None:
    """Within a factor of 1.5; what is below one in a hundred is the same to a reader."""
    rng = random.Random(7)
    pairs = [blocks(rate, rng, cells=cells, nights=20, policy=policy) for _ in range(3)]
    stated, truth = (sorted(column)[1] for column in zip(*pairs, strict=True))
    assert max(stated, 0.01) <= 1.5 * max(truth, 0.01)
    assert max(truth, 0.01) <= 1.5 * max(stated, 0.01)


def test_what_few_trials_leave_open_is_said() -> None:
    """Twenty new evals: their three trials hardly tell how often they pass."""
    few, many = (
        gate_suite(gate([cell("ppp", ALWAYS, name=f"e{i}", past=past) for i in range(20)]), confirm=3)
        for past in (None, Baseline(passed=297, failed=3, nights=100))
    )
    assert few is not None
    assert many is not None
    assert few.now.vague
    assert few.now.least < 0.01 < few.now.most
    assert not many.now.vague


def test_cells_without_nights_count_as_well() -> None:
    """With the error rates of two of three, at the rate of the others."""
    cells = [cell(name="known"), cell(name="new", past=None), cell("ff", name="fell", past=None)]
    answers = gate(cells, confirm=3)
    assert (answers[2].decision.answer, answers[2].more) == ("undecided", 3)
    rules = [one.rule for one in applied_rates(answers, effort=STANDARD, confirm=3)]
    assert rules == ["optimal standard", "two_of_three"]
    suite = gate_suite(answers, confirm=0)
    assert suite is not None
    assert suite.now.cells == 3
    assert 2 * 0.00725 <= suite.now.blocks <= 5 * 0.00725
