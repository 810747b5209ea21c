from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from demeanor.core.errors import UnknownName
from demeanor.core.exit_code import ExitCode
from demeanor.core.policy import Policy
from demeanor.decide.baseline import Baseline
from demeanor.decide.gate import always
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.rules import RULES, gate, gate_exit_code, next_trials, rule_named
from demeanor.decide.gate.screen import p_reject
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


def answer(one: GateCell, rule: str = "screen") -> GateAnswer:
    return gate([one], rule=rule)[0]


def screened(cells: Sequence[GateCell]) -> tuple[GateAnswer, ...]:
    return gate(cells, rule="screen")


def play(
    cells: dict[str, tuple[float, Baseline | None]], rng: random.Random, rule: str = "screen"
) -> tuple[list[str], int]:
    """Run the trials that the gate asks for until it asks for no more; return the answers and the number of trials."""
    seen: dict[str, list[bool]] = {name: [] for name in cells}
    while True:
        answers = gate([cell(seen[name], name=name, past=past) for name, (_, past) in cells.items()], rule=rule)
        wanted = next_trials(answers)
        if not wanted:
            return [one.decision.answer for one in answers], sum(map(len, seen.values()))
        for name, trials in wanted.items():
            rate = cells[name.removesuffix("/a:m")][0]
            seen[name.removesuffix("/a:m")] += [rng.random() < rate for _ in range(trials)]


def test_classic_agrees_with_the_reference() -> None:
    """For all outcomes of three trials; it never asks for a trial that can't change the answer."""
    for outcomes in itertools.product([0, 1], repeat=3):
        found = answer(cell(outcomes), "classic")
        assert (found.decision.answer == "accept") is passes_the_gate(list(map(bool, outcomes)))
    assert [answer(cell(seen), "classic").more for seen in ([], [1], [0], [1, 0], [1, 1], [0, 0])] == [2, 1, 2, 1, 0, 0]


@pytest.mark.parametrize("rule", RULES)
def test_always_passes_must_pass_every_time(rule: str) -> None:
    """One failure rejects at once; fewer than three judged trials decide nothing."""
    policy = Policy.ALWAYS_PASSES
    assert answer(cell([1, 1, 1], policy=policy), rule).decision.answer == "accept"
    assert answer(cell([1, 0], policy=policy), rule).decision.answer == "reject"
    open_cell = answer(cell([1, 1], policy=policy, voided=2), rule)
    assert (open_cell.decision.answer, open_cell.more) == ("undecided", 1)
    given_up = answer(cell([1, 1], policy=policy, voided=4), rule)
    assert (given_up.decision.answer, given_up.more) == ("undecided", 0)


@pytest.mark.parametrize("rule", RULES)
def test_undecided_has_its_own_exit_code_and_reject_beats_it(rule: str) -> None:
    """USUALLY_FAILS evals and subjects that are not key subjects never block."""
    void, fine = cell([], voided=9), cell([1, 1, 1], name="f")
    bad = cell([0, 1], name="b", policy=Policy.ALWAYS_PASSES)
    aside = [cell([0, 0, 0], name="k", policy=Policy.USUALLY_FAILS), cell([0, 0, 0], name="s", key=False)]
    assert gate_exit_code(gate([fine, *aside], rule=rule)) is ExitCode.ACCEPTED
    assert gate_exit_code(gate([fine, void, *aside], rule=rule)) is ExitCode.UNDECIDED
    assert gate_exit_code(gate([fine, void, bad], rule=rule)) is ExitCode.REJECTED


def test_screen_accepts_three_passes() -> None:
    """And asks for no more."""
    assert answer(cell([])).more == 3
    found = answer(cell([1, 1, 1]))
    assert (found.decision.answer, found.more) == ("accept", 0)


def test_screen_escalates_after_a_failure_and_does_not_count_it_again() -> None:
    """Seven fresh passes decide it; so do five fresh failures."""
    begun = answer(cell([1, 0]))
    assert (begun.decision.answer, begun.more > 0) == ("undecided", True)
    assert answer(cell([0, *[1] * 8])).decision.answer == "accept"
    dropped = answer(cell([0, *[0] * 5]))
    assert dropped.decision.answer == "reject"
    assert "after 57 of 60 in 20 nights" in dropped.decision.reason
    assert dropped.adjusted is not None
    assert dropped.adjusted <= 0.1


def test_the_same_trials_are_weaker_evidence_for_an_unreliable_eval() -> None:
    """Each eval is compared with its own history."""
    outcomes = [0, 1, 0, 1, 0, 1, 1, 0, 1, 1, 0]
    assert answer(cell(outcomes)).decision.answer == "reject"
    assert answer(cell(outcomes, past=Baseline(passed=36, failed=24, nights=20))).decision.answer == "accept"


def test_a_history_with_several_fingerprints_is_reported() -> None:
    """It is never averaged silently."""
    past = Baseline(passed=57, failed=3, nights=20, fingerprints=("f1", "f2"))
    assert "with 2 different fingerprints" in answer(cell([0, 0, 0], past=past)).decision.reason


def test_a_new_eval_must_pass_two_of_three() -> None:
    """It has no history to compare with."""
    assert answer(cell([1, 1, 1], past=None)).decision.answer == "accept"
    assert answer(cell([0, *[1] * 8], past=None)).decision.answer == "accept"
    assert answer(cell([0, *[0] * 4], past=None)).decision.answer == "reject"
    assert answer(cell([0, 1, 1], past=None)).more == 3


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


@pytest.mark.parametrize(("rule", "confirm"), [("optimal", 0), ("optimal", 2), ("screen", 0), ("classic", 0)])
@given(drawn=SUITES, data=st.data())
def test_an_answer_never_changes_with_further_trials(
    rule: str, confirm: int, drawn: list[tuple[list[bool], int | None, int, bool]], data: st.DataObject
) -> None:
    """The basis for stopping early: whatever the trials of any cell still show, accept and reject are final."""
    cells = suite_of(drawn)
    before = [one.decision.answer for one in gate(cells, rule=rule, confirm=confirm)]
    further = st.lists(st.booleans(), max_size=13)
    later = [  # a cell that was given up gets no more trials
        one if always.given_up(one) else replace(one, outcomes=(*one.outcomes, *data.draw(further))) for one in cells
    ]
    after = [one.decision.answer for one in gate(later, rule=rule, confirm=confirm)]
    for old, new in zip(before, after, strict=True):
        assert old in {"undecided", new}


@pytest.mark.parametrize(("rule", "confirm"), [("optimal", 0), ("optimal", 2), ("screen", 0), ("classic", 0)])
@given(drawn=SUITES, more=st.integers(1, 9), place=st.integers(0, 5))
def test_voids_never_turn_a_rejection_into_undecided(
    rule: str, confirm: int, drawn: list[tuple[list[bool], int | None, int, bool]], more: int, place: int
) -> None:
    """Of this cell or of any other one."""
    cells = suite_of(drawn)
    at = place % len(cells)
    voided = [replace(one, voided=one.voided + more) if i == at else one for i, one in enumerate(cells)]
    before, after = (gate(some, rule=rule, confirm=confirm) for some in (cells, voided))
    for old, new in zip(before, after, strict=True):
        assert old.decision.answer != "reject" or new.decision.answer == "reject"


@given(outcomes=st.lists(st.booleans(), max_size=13), passed=st.integers(0, 60))
def test_the_requested_trials_are_the_fewest_that_can_decide(outcomes: list[bool], passed: int) -> None:
    """If they all pass, or all fail, the cell is decided; with one fewer it is not."""
    past = Baseline(passed=passed, failed=60 - passed, nights=20)
    found = answer(cell(outcomes, past=past))
    if found.more == 0 or (len(outcomes) < 3 and False not in outcomes):
        return

    def decided(more: int) -> bool:
        ends = [answer(cell([*outcomes, *[value] * more], past=past)).more == 0 for value in (True, False)]
        return any(ends)

    assert decided(found.more)
    assert not decided(found.more - 1)


def test_a_borderline_cell_waits_for_cells_that_may_still_be_escalated() -> None:
    """Next to a healthy one it is accepted; next to many that have dropped it is rejected."""
    borderline = cell([0, *[1] * 7, 0, 0, 0], past=Baseline(passed=55, failed=5, nights=20))
    healthy = cell([0, *[1] * 10], name="healthy")
    assert screened([borderline, healthy])[0].decision.answer == "accept"
    waiting = screened([borderline, healthy, *(cell([], name=f"j{i}") for i in range(9))])[0]
    assert (waiting.decision.answer, waiting.more) == ("undecided", 0)
    assert "it depends on the results of the other cells" in waiting.decision.reason
    dropped = [cell([0] * 11, name=f"j{i}") for i in range(9)]
    assert screened([borderline, healthy, *dropped])[0].decision.answer == "reject"


def test_stopping_early_changes_no_answer() -> None:
    """Whatever the order of the trials, the answers are those after all trials."""
    rng, rejects = random.Random(33), 0
    for _ in range(80):
        fates = {f"e{i}": [rng.random() < rng.choice([0.3, 0.7, 0.95]) for _ in range(13)] for i in range(6)}
        pasts = {name: Baseline(passed=c, failed=60 - c, nights=20) for name in fates for c in [rng.randint(48, 60)]}
        seen: dict[str, int] = dict.fromkeys(fates, 0)
        while True:
            answers = screened([cell(fates[name][:count], name=name, past=pasts[name]) for name, count in seen.items()])
            wanted = [one for one in answers if one.more]
            if not wanted:
                break
            seen[rng.choice(wanted).cell.eval] += 1
        assert [one.decision.answer for one in answers] == in_full(fates, pasts)
        assert max(seen.values()) <= 13
        rejects += sum(one.decision.answer == "reject" for one in answers)
    assert rejects > 25


def in_full(fates: dict[str, list[bool]], pasts: dict[str, Baseline]) -> list[str]:
    """A reference: ten fresh trials for every cell with a failure among its first three, then the correction."""
    escalated = {name: fate[fate.index(False) + 1 :][:10] for name, fate in fates.items() if not all(fate[:3])}
    p_values = [
        stats.betabinom.cdf(sum(fresh), 10, pasts[name].passed + 0.5, pasts[name].failed + 0.5)
        for name, fresh in escalated.items()
    ]
    adjusted = stats.false_discovery_control(p_values) if p_values else []
    rejected = {name for name, p in zip(escalated, adjusted, strict=True) if p <= 0.1}
    return ["reject" if name in rejected else "accept" for name in fates]


def test_every_cell_is_answered_in_the_end() -> None:
    """No cell stays undecided, and none gets more than thirteen trials."""
    rng = random.Random(1)
    suite = {f"e{i}": (rng.choice([0.5, 0.9, 0.98]), STEADY if i % 3 else None) for i in range(40)}
    answers, spent = play(suite, rng)
    assert set(answers) <= {"accept", "reject"}
    assert spent <= 13 * 40


def test_voids_never_turn_a_certain_rejection_into_undecided() -> None:
    """With more voids than the gate tolerates, and whatever the other cells show."""
    certain = [0, *[0] * 6]
    for others in ([], [cell([], name=f"o{i}") for i in range(5)]):
        found = [screened([cell(certain, voided=voids), *others])[0] for voids in (0, 9)]
        assert [(one.decision.answer, one.more) for one in found] == [("reject", 0)] * 2
    open_cell = screened([cell([0, 0, 1, 1], voided=9)])[0]
    assert (open_cell.decision.answer, open_cell.more) == ("undecided", 0)


def test_p_values_that_are_limits_say_so() -> None:
    """A cell that stops early has no exact p-value."""
    assert [answer(cell([0, *[value] * trials])).bound for value, trials in ((0, 6), (1, 9), (1, 10))] == [
        "<=",
        ">=",
        "=",
    ]


def test_a_small_budget_goes_to_the_most_doubtful() -> None:
    """A cell without trials comes before one that is nearly decided; the budget is never exceeded."""
    answers = screened([cell([0, 1, 1, 1, 1, 1, 1], name="settling"), cell([], name="new")])
    assert next_trials(answers, budget=3) == {"new/a:m": 3}
    assert sum(next_trials(answers, budget=4).values()) == 4
    assert next_trials(answers, budget=0) == {}


@pytest.mark.parametrize("rate", [0.95, 0.5])
def test_a_simulation_agrees_with_the_error_rates_of_screen(rate: float) -> None:
    """History and trials are drawn anew each time."""
    rng, rejected, spent, rounds = random.Random(8), 0, 0, 1500
    for _ in range(rounds):
        passed = sum(rng.random() < 0.95 for _ in range(60))
        answers, trials = play({"e": (rate, Baseline(passed=passed, failed=60 - passed, nights=20))}, rng)
        rejected += answers == ["reject"]
        spent += trials
    row = RULES["screen"].error_rates().at(rate)
    assert rejected / rounds == pytest.approx(row.chance, abs=0.03)
    assert row.trials is not None
    # The gate asks for three trials at once, so it may run up to two more than needed.
    assert row.trials - 0.2 <= spent / rounds <= row.trials + 1.5


def test_false_alarms_of_a_suite_are_as_few_as_it_says() -> None:
    """On average, at most a tenth of the rejected cells is healthy; most large drops are detected."""
    rng, shares, seen = random.Random(21), [], 0
    for _ in range(12):
        rates = [rng.betavariate(38, 2) for _ in range(40)]
        suite = {}
        for index, rate in enumerate(rates):
            passed = sum(rng.random() < rate for _ in range(60))
            now = 0.5 if index < 4 else rate
            suite[f"e{index}"] = (now, Baseline(passed=passed, failed=60 - passed, nights=20))
        answers, _ = play(suite, rng)
        rejected = [index for index, answer in enumerate(answers) if answer == "reject"]
        shares.append(sum(index >= 4 for index in rejected) / max(1, len(rejected)))
        seen += sum(index < 4 for index in rejected)
    assert sum(shares) / len(shares) <= 0.1
    assert seen / 48 >= 0.65


def test_error_rates_are_the_published_ones() -> None:
    """Exactly."""
    classic, screen = (RULES[name].error_rates() for name in ("classic", "screen"))
    assert classic.at(0.95).chance == pytest.approx(0.00725)
    assert 1 - classic.at(0.8).chance == pytest.approx(0.896)
    assert screen.at(0.95).chance < 0.01
    assert 1 - screen.at(0.5).chance < 0.2
    assert p_reject(0.5, past=21) < p_reject(0.5)
    assert always.error_rates().at(0.95).chance == pytest.approx(1 - 0.95**3)
    assert {row.rate for row in screen.rows} == set(always.RATES)


def test_seed_is_the_former_name_of_classic() -> None:
    """Answers and error rates show the current name."""
    assert rule_named("seed") is RULES["classic"]
    assert answer(cell([1, 1]), "seed").decision.rule == rule_named("seed").error_rates().rule == "classic"
    with pytest.raises(UnknownName, match="did you mean 'classic'") as caught:
        rule_named("clasic")
    assert "seed" not in str(caught.value)
