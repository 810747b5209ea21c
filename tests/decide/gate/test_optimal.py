"""The rule `optimal`: exact figures, histories of any length, and second looks."""

from __future__ import annotations

import random

import pytest
from benchmarks.error_rates import TABLES, shown_table
from benchmarks.gate_rules import PRICES, fewest_trials, of_effort
from hypothesis import given, strategies as st

from demeanor.core.values.policy import Policy
from demeanor.decide.gate.cell import GateCell
from demeanor.decide.gate.effort import EFFORTS, LARGE_DROP, SMALL_DROP, STANDARD, THOROUGH, Effort
from demeanor.decide.gate.frontier import average_rates, cell_rates, expected_rate, plan_after
from demeanor.decide.gate.optimal import history
from demeanor.decide.gate.rules import gate
from demeanor.decide.nights.baseline import Baseline

STEADY = Baseline(passed=57, failed=3, nights=20)


def cell(outcomes: str = "", *, subject: str = "a:m", past: Baseline | None = STEADY, voided: int = 0) -> GateCell:
    judged = tuple(sign == "p" for sign in outcomes)
    return GateCell(eval="e", subject=subject, policy=Policy.USUALLY_PASSES, outcomes=judged, past=past, voided=voided)


def answers(*cells: GateCell, effort: Effort = STANDARD) -> list[tuple[str, int]]:
    return [(one.decision.answer, one.more) for one in gate(cells, effort=effort)]


def figures(effort: Effort, *, past: int = 0) -> dict[float, tuple[float, float]]:
    """True rate → how often it rejects, and its mean trials; the healthy rate is 95 %."""
    rows = average_rates((0.99, 0.95, 0.8, 0.5), past=past, base=0.95, effort=effort)
    return {row.rate: (row.chance, row.trials or 0.0) for row in rows}


@pytest.mark.parametrize(
    ("effort", "false_alarms", "miss_80", "miss_50", "trials_95", "trials_99"),
    [(STANDARD, 0.008, 0.765, 0.15, 3.9, 3.2), (THOROUGH, 0.008, 0.51, 0.02, 8.1, 6.4)],
    ids=["standard", "thorough"],
)
def test_each_effort_keeps_its_limits(
    effort: Effort, false_alarms: float, miss_80: float, miss_50: float, trials_95: float, trials_99: float
) -> None:
    """Exactly."""
    found = figures(effort)
    assert found[0.95][0] <= false_alarms
    assert 1 - found[0.8][0] <= miss_80
    assert 1 - found[0.5][0] <= miss_50
    assert found[0.95][1] <= trials_95
    assert found[0.99][1] <= trials_99


@pytest.mark.parametrize("name", ["gate", "gate-history", "confirm"])
def test_the_docs_show_what_the_rules_do(name: str) -> None:
    """`make bench-signal WRITE=--write` writes the tables."""
    assert shown_table(name) == list(TABLES[name][1]())


@pytest.mark.parametrize("effort", EFFORTS, ids=["standard", "thorough"])
def test_no_plan_of_any_length_saves_more_than_two_percent(effort: Effort) -> None:
    """By Lagrange duality: a lower limit for the trials of every plan with the same error rates, up to 60 per cell."""
    own = of_effort(effort)
    fewest = fewest_trials(own, PRICES[f"`{effort.name}`"])
    assert fewest <= own.trials <= 1.02 * fewest


@pytest.mark.parametrize("effort", EFFORTS, ids=["standard", "thorough"])
@pytest.mark.parametrize("past", [6, 21, 60, 300])
def test_a_short_history_costs_little_power(effort: Effort, past: int) -> None:
    """It never has more false alarms or trials than none; it misses few large drops more, and some small ones."""
    none, some = figures(effort), figures(effort, past=past)
    assert some[0.95][0] <= none[0.95][0] + 0.001
    assert some[0.8][0] >= none[0.8][0] - 0.13
    assert some[0.5][0] >= none[0.5][0] - 0.02
    assert some[0.95][1] <= none[0.95][1] + 0.01


@pytest.mark.parametrize(("effort", "most"), [(STANDARD, 0.06), (THOROUGH, 0.08)], ids=["standard", "thorough"])
def test_an_unreliable_eval_has_few_false_alarms_as_well(effort: Effort, most: float) -> None:
    """At its own rate, with sixty trials of history."""
    rates = (0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)
    alarms = {rate: average_rates((rate,), past=60, base=rate, effort=effort)[0].chance for rate in rates}
    assert max(alarms.values()) <= most, alarms


def test_the_history_of_an_unreliable_eval_prevents_false_alarms() -> None:
    """A 70 % eval that is expected to pass 95 % is rejected every second time; with a history, hardly ever."""
    without, with_history = (average_rates((0.7,), past=past, base=0.7, effort=STANDARD)[0].chance for past in (0, 60))
    assert without > 0.4
    assert with_history < 0.05


def test_each_cell_shows_the_error_rates_of_its_own_history() -> None:
    """At the rate that its nights show; a simulation agrees."""
    unreliable = Baseline(passed=42, failed=18, nights=20)
    one, other = gate([cell(), cell(past=unreliable, subject="b:m")])
    assert (one.rates, other.rates) == (cell_rates(57, 3, STANDARD), cell_rates(42, 18, STANDARD))
    assert other.rates is not None
    assert other.rates.healthy.rate == expected_rate(42, 18) == 0.74
    assert other.rates.large_drop.rate == pytest.approx(0.74 * LARGE_DROP, abs=0.005)
    assert other.rates.small_drop.rate == pytest.approx(0.74 * SMALL_DROP, abs=0.005)
    rng, rejected, rounds = random.Random(5), 0, 4000
    for _ in range(rounds):
        outcomes = [rng.random() < other.rates.large_drop.rate for _ in range(STANDARD.cap)]
        rejected += plan_after(42, 18, STANDARD).follow(outcomes)[1] == "reject"
    assert rejected / rounds == pytest.approx(other.rates.large_drop.chance, abs=0.025)


def test_three_passes_are_enough_and_a_failure_needs_more() -> None:
    """The gate asks for the fewest trials that can decide."""
    assert answers(cell(), effort=THOROUGH)[0] == ("undecided", 4)
    assert [answers(cell(seen))[0] for seen in ("", "p", "ppp", "fff", "ppfpppp", "ppfppppp")] == [
        ("undecided", 3),
        ("undecided", 2),
        ("accept", 0),
        ("reject", 0),
        ("undecided", 1),
        ("accept", 0),
    ]
    reason = gate([cell("fff")])[0].decision.reason
    assert reason == "0 of 3 passed, 95 % expected after 57 of 60 in 20 nights"


def test_voids_are_repeated_and_too_many_leave_it_undecided_unless_it_is_rejected() -> None:
    """A void is neither a pass nor a failure."""
    assert answers(cell("pp", voided=3)) == [("undecided", 1)]
    assert answers(cell("pp", voided=4)) == [("undecided", 0)]
    assert answers(cell("fff", voided=9)) == [("reject", 0)]
    assert answers(cell("ppp", voided=9)) == [("accept", 0)]


def test_a_rejected_subject_gives_the_others_a_second_look_that_rejects_none() -> None:
    """They stay accepted, whatever it shows; it begins when the rejection is confirmed, and voids end it."""
    assert answers(cell("ppp"), cell("pf", subject="b:m")) == [("accept", 0), ("undecided", 2)]
    two = (cell("ppp"), cell("fff", subject="b:m"))
    assert answers(*two)[0][0] == "accept"
    assert gate(two)[0].more > 0
    assert gate(two, confirm=3)[0].more == 0
    worse, better = (gate([cell("ppp" + rest), cell("fff", subject="b:m")])[0] for rest in ("f" * 6, "p" * 20))
    assert (worse.decision.answer, worse.more, worse.suspected) == ("accept", 0, True)
    assert "also suspected, because b:m was rejected" in worse.decision.reason
    assert (better.decision.answer, better.more, better.suspected) == ("accept", 0, False)
    assert answers(cell("ppp", voided=9), cell("fff", subject="b:m")) == [("accept", 0), ("reject", 0)]


@pytest.mark.parametrize("rate", [0.9, 0.7, 0.5, 0.3])
def test_a_healthy_subject_is_not_blamed_for_another_one(rate: float) -> None:
    """One of three subjects is broken: the others are rejected as often as they are without it."""
    rng, rounds, blamed, alone = random.Random(4), 60, 0, 0
    for _ in range(rounds):
        passed = sum(rng.random() < rate for _ in range(60))
        past = Baseline(passed=passed, failed=60 - passed, nights=20)
        outcomes = "".join("p" if rng.random() < rate else "f" for _ in range(60))
        alone += answers(cell(outcomes, past=past)) == [("reject", 0)]
        blamed += answers(cell(outcomes, past=past), cell("f" * 20, subject="b:m"))[0] == ("reject", 0)
    assert blamed == alone <= rounds / 5


def test_one_bad_first_night_leaves_a_cell_rejectable() -> None:
    """Otherwise it could fail forever: after it, no failure would be news. A good second night does not change that."""
    (found,) = gate([cell("ff", past=Baseline(passed=0, failed=3, nights=1))])
    assert (found.decision.answer, found.decision.rule) == ("reject", "two_of_three")
    for effort in EFFORTS:
        (found,) = gate([cell("f" * 30, past=Baseline(passed=3, failed=3, nights=2))], effort=effort)
        assert (found.decision.answer, found.decision.rule) == ("reject", "optimal")


@pytest.mark.parametrize("effort", EFFORTS, ids=["standard", "thorough"])
@pytest.mark.parametrize("correlation", [0.0, 0.07, 0.2])
def test_what_passed_half_of_the_time_is_never_accepted_without_a_pass(effort: Effort, correlation: float) -> None:
    """However few its nights are: what fails all of its trials now is rejected."""
    for nights in (2, 3, 4, 7, 20):
        for passed in range(-(-nights // 2), nights + 1):
            past = Baseline(passed=passed, failed=nights - passed, nights=nights)
            (one,) = gate([cell("f" * effort.cap, past=past)], effort=effort, correlation=correlation)
            assert one.decision.answer == "reject", (past, one.decision.reason)


def test_correlated_trials_are_weaker_evidence() -> None:
    """A plan that expects them has the false alarms that it states; one that does not has several times as many."""
    past, correlation = Baseline(passed=57, failed=3, nights=20), 0.2
    (expecting,) = gate([cell(past=past)], correlation=correlation)
    assert expecting.rates is not None
    plan, naive = (plan_after(*history(cell(past=past), rho), STANDARD, rho) for rho in (correlation, 0.0))
    assert plan_after(300, 0, STANDARD, 0.1).answers != plan_after(300, 0, STANDARD).answers
    healthy = expecting.rates.healthy
    rng, rounds, alarms, naive_alarms = random.Random(6), 4000, 0, 0
    for _ in range(rounds):
        night = rng.betavariate(healthy.rate * 4, (1 - healthy.rate) * 4)
        outcomes = [rng.random() < night for _ in range(STANDARD.cap)]
        alarms += plan.follow(outcomes)[1] == "reject"
        naive_alarms += naive.follow(outcomes)[1] == "reject"
    assert alarms / rounds == pytest.approx(healthy.chance, abs=0.01)
    assert naive_alarms / rounds > 3 * cell_rates(57, 3, STANDARD).healthy.chance


@given(outcomes=st.text(alphabet="pf", max_size=13), passed=st.integers(0, 60), effort=st.sampled_from(EFFORTS))
def test_the_requested_trials_are_the_fewest_that_can_decide(outcomes: str, passed: int, effort: Effort) -> None:
    """Some outcome of them decides the cell; with one fewer, none does."""
    past = Baseline(passed=passed, failed=60 - passed, nights=20)
    ((_, more),) = answers(cell(outcomes, past=past), effort=effort)

    def decided(trials: int) -> bool:
        ends = ["p" * good + "f" * (trials - good) for good in range(trials + 1)]
        return any(answers(cell(outcomes + end, past=past), effort=effort)[0][1] == 0 for end in ends)

    if more:
        assert decided(more)
        assert not decided(more - 1)


def test_an_empty_baseline_is_compared_with_the_expected_rate() -> None:
    """As `demeanor fix` does: the nights show what is to be fixed."""
    (found,) = gate([cell("fff", past=Baseline(passed=0, failed=0, nights=0))])
    assert found.decision.answer == "reject"
    assert found.decision.reason == "0 of 3 passed, 95 % expected without a history"
