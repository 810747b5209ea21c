from __future__ import annotations

import random

import pytest

from demeanor.core.values.evidence import Spent
from demeanor.core.values.history import RunCell
from demeanor.decide.comparison.rules import CompareOutcome, compare, p_drop, smallest_detectable_drop, to_look_at_again
from tests.helpers.histories import night


def both(base: tuple[int, int], new: tuple[int, int], **more: str):
    return [night(0, *base, **more)], [night(1, *new, **more)]


def outcome(base: tuple[int, int], new: tuple[int, int]) -> CompareOutcome:
    return compare(*both(base, new)).evals[0].outcome


def test_a_large_drop_is_a_regression_and_a_large_rise_an_improvement() -> None:
    """With the p-value of the observed direction."""
    found = compare(*both((57, 3), (2, 8))).evals[0]
    assert (found.outcome, found.base, found.new) == (CompareOutcome.REGRESSED, (57, 60), (2, 10))
    assert found.p_value < 1e-5
    assert outcome((2, 8), (57, 3)) is CompareOutcome.IMPROVED


def test_without_a_difference_three_trials_are_underpowered_and_hundreds_are_not() -> None:
    """Could they have detected a drop?"""
    few, many = compare(*both((3, 0), (3, 0))).evals[0], compare(*both((190, 10), (190, 10))).evals[0]
    assert (few.outcome, many.outcome) == (CompareOutcome.UNDERPOWERED, CompareOutcome.NO_EVIDENCE)
    assert few.detectable_drop is None or few.detectable_drop > 0.5
    assert many.detectable_drop is not None
    assert many.detectable_drop < 0.12


def test_a_side_whose_failures_may_be_void_is_not_called_as_good() -> None:
    """A true 50 % whose failures the agent makes void; few voids among many trials don't matter."""
    base = [night(0, 200, 0, eval=name) for name in "abc"]
    for voided, answer, doubtful in ((200, "undecided", 600), (1, "not worse", 0), (0, "not worse", 0)):
        found = compare(base, [night(1, 200, 0, eval=name, voided=voided) for name in "abc"])
        assert (found.answer, found.doubtful) == (answer, doubtful)


def test_p_values_are_adjusted_for_the_number_of_evals() -> None:
    """What is significant alone may not be significant among fifty."""
    alone = compare(*both((21, 0), (1, 2))).evals[0]
    base = [night(0, 21, 0, eval=f"e{i}") for i in range(50)]
    new = [night(1, 1 if i == 0 else 3, 2 if i == 0 else 0, eval=f"e{i}") for i in range(50)]
    among = next(one for one in compare(base, new).evals if one.eval == "e0")
    assert alone.p_value == among.p_value == pytest.approx(0.0080, abs=1e-4)
    assert (alone.outcome, among.outcome) == (CompareOutcome.REGRESSED, CompareOutcome.SUSPICIOUS)


def test_false_discoveries_of_both_directions_together_are_limited() -> None:
    """Without any difference, a result of either direction is a false alarm: at most in a tenth of all comparisons."""
    rng, alarms, rounds = random.Random(4), 0, 60
    for _ in range(rounds):
        sides = [
            [night(number, passed, 8 - passed, eval=f"e{i}") for i in range(5) for passed in [draw(rng, 8)]]
            for number in (0, 1)
        ]
        found = compare(*sides).evals
        alarms += any(one.outcome in {CompareOutcome.REGRESSED, CompareOutcome.IMPROVED} for one in found)
    assert alarms / rounds <= 0.1


def draw(rng: random.Random, trials: int) -> int:
    return sum(rng.random() < 0.5 for _ in range(trials))


def suite(*scores: tuple[int, int], number: int) -> list[RunCell]:
    return [night(number, *score, eval=f"e{i}") for i, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("base", "new", "answer"),
    [
        ([(3, 0)], [(3, 0)], "undecided"),
        ([(3, 0)] * 20, [(0, 3), *[(3, 0)] * 19], "undecided"),
        ([(3, 0)] * 20, [(2, 1)] * 20, "worse"),
        ([(10, 0)] * 50, [(9, 1)] * 50, "worse"),
        ([(30, 0)], [(3, 27)], "worse"),
        ([(190, 10)] * 3, [(190, 10)] * 3, "undecided"),
        ([(99, 1)], [(99, 1)], "not worse"),
        ([(20, 0)] * 40, [(20, 0)] * 40, "not worse"),
        ([(20, 0)] * 40, [(16, 4), *[(20, 0)] * 39], "undecided"),
    ],
    ids=["few", "one-fell-of-few", "all-a-third", "all-ten-points", "clear", "few-evals", "one", "many", "suspicious"],
)
def test_it_is_not_worse_only_if_that_is_shown(
    base: list[tuple[int, int]], new: list[tuple[int, int]], answer: str
) -> None:
    """The mean excludes a drop of the margin, and no eval is suspicious; worse, if one is, or if the mean fell."""
    assert compare(suite(*base, number=0), suite(*new, number=1)).answer == answer


def test_the_margin_decides_and_the_trials_that_are_needed_suffice() -> None:
    """Five points by default; more trials, or a larger margin, make an answer of the same rates."""
    sides = [suite(*[(19, 1)] * 8, number=n) for n in (0, 1)]
    few = compare(*sides)
    assert (few.answer, compare(*sides, margin=0.1).answer) == ("undecided", "not worse")
    assert few.trials_needed is not None
    rounds = -(-few.trials_needed // 20)
    assert compare(*([cell for _ in range(rounds) for cell in side] for side in sides)).answer == "not worse"


def test_a_cell_of_the_base_that_vanished_leaves_it_undecided() -> None:
    """Removed, void, skipped or edited; not one that only the new side has."""
    base, new = (suite(*[(20, 0)] * 40, number=n) for n in (0, 1))
    for gone in ([], [night(1, 0, 0, eval="x", voided=3)], [night(1, 0, 0, eval="x", skipped=True)],
                 [night(1, eval="x", eval_hash="h2")]):  # fmt: skip
        found = compare([*base, night(0, eval="x")], [*new, *gone])
        assert (found.answer, found.uncompared) == ("undecided", ("x/a:m",))
    assert compare(base, [*new, night(1, eval="x")]).answer == "not worse"


def test_a_second_look_decides_by_fresh_trials() -> None:
    """What looked worse is found or cleared by them, and the mean stays that of the first look."""
    base, new = suite(*[(10, 0)] * 50, number=0), suite((5, 5), *[(10, 0)] * 49, number=1)
    first = compare(base, new)
    assert (first.answer, to_look_at_again(first)) == ("undecided", {("e0", "a:m")})
    looks = {}
    for passed in (10, 17, 20):
        last = compare(base, new, again=(suite((20, 0), number=2), suite((passed, 20 - passed), number=3)))
        looks[passed] = (last.answer, next(cell for cell in last.evals if cell.eval == "e0"))
        assert last.suite == first.suite
    assert [answer for answer, _ in looks.values()] == ["worse", "undecided", "not worse"]
    assert [cell.outcome for _, cell in looks.values()][:2] == [CompareOutcome.REGRESSED, CompareOutcome.SUSPICIOUS]
    assert looks[10][1].again == ((20, 20), (10, 20))


def test_a_second_look_that_is_mostly_void_clears_nothing() -> None:
    """It tells less than the first."""
    base, new = suite(*[(10, 0)] * 50, number=0), suite((0, 10), *[(10, 0)] * 49, number=1)
    assert to_look_at_again(compare(base, new)) == {("e0", "a:m")}
    assert compare(base, new, again=(suite((20, 0), number=2), suite((2, 0), number=3))).answer == "worse"


def test_a_fall_of_the_mean_needs_no_second_look() -> None:
    """The answer can't change."""
    assert to_look_at_again(compare(suite((30, 0), number=0), suite((3, 27), number=1))) == frozenset()


def test_the_suite_shows_a_drop_that_no_single_eval_shows() -> None:
    """Every eval is a little worse: none regressed, but the interval of the mean is below 0."""
    rng = random.Random(6)
    base, new = [], []
    for i in range(120):
        for side, rate, number in ((base, 0.95, 0), (new, 0.85, 1)):
            passed = sum(rng.random() < rate for _ in range(3))
            side.append(night(number, passed, 3 - passed, eval=f"e{i}"))
    found = compare(base, new)
    assert not [one for one in found.evals if one.outcome is CompareOutcome.REGRESSED]
    assert found.suite is not None
    assert found.suite.high is not None
    assert found.suite.value < found.suite.high < 0
    assert found.suite.evals == 120


def test_healthy_suites_are_rarely_called_regressed() -> None:
    """At most one of ten suites without a change has any regression at all."""
    rng, alarms = random.Random(12), 0
    for _ in range(60):
        sides = ([], [])
        for i in range(30):
            rate = rng.betavariate(38, 2)
            for side, trials, number in ((sides[0], 21, 0), (sides[1], 10, 1)):
                passed = sum(rng.random() < rate for _ in range(trials))
                side.append(night(number, passed, trials - passed, eval=f"e{i}"))
        alarms += any(one.outcome is CompareOutcome.REGRESSED for one in compare(*sides).evals)
    assert alarms / 60 <= 0.1


def test_evals_that_can_not_be_compared_are_listed_with_the_reason() -> None:
    """Missing on one side, void, or edited."""
    base = [night(0, eval="old"), night(0, eval="void"), night(0, eval="edited", eval_hash="h0"), night(0)]
    new = [night(1, eval="new"), night(1, 0, 0, eval="void", voided=3), night(1, eval="edited"), night(1)]
    found = compare(base, new)
    assert [one.eval for one in found.evals] == ["e"]
    assert dict(found.incomparable) == {
        "edited/a:m": "the eval itself was edited, so its rates can't be compared",
        "new/a:m": "only on the new side",
        "old/a:m": "only on the base",
        "void/a:m": "no trial of the new side could be judged",
    }
    nothing = compare([], [])
    assert (nothing.suite, nothing.evals, nothing.cost_usd) == (None, (), None)


def test_two_subjects_are_compared_eval_by_eval() -> None:
    """If each side has one subject and they differ."""
    found = compare([night(0, subject="a:m")], [night(1, subject="b:m")])
    assert [(one.eval, one.subject) for one in found.evals] == [("e", "a:m → b:m")]


def test_several_fingerprints_on_one_side_are_reported() -> None:
    """They are never averaged silently."""
    found = compare([night(0), night(1, fingerprint="f2")], [night(2)])
    assert found.evals[0].notes == ("the base combines 2 versions of the subject (◆), with fingerprints f1, f2",)
    assert found.evals[0].base == (6, 6)
    within = compare([night(0, fingerprint="f1 + f2")], [night(2)])
    assert within.evals[0].notes == found.evals[0].notes


def test_money_tokens_turns_and_time_are_compared_per_judged_trial() -> None:
    """Eval by eval; numbers that are unknown on one side are left out."""
    spent = {"input_tokens": 90, "output_tokens": 10, "turns": 4, "seconds": 8.0}
    base = [night(0, 4, 0, eval=e, spent=Spent(cost_usd=0.4, **spent)) for e in ("x", "y")]
    new = [night(1, 2, 0, eval=e, spent=Spent(cost_usd=0.6 if e == "x" else None, **spent)) for e in ("x", "y")]
    found = compare(base, new)
    assert found.cost_usd is not None
    assert (found.cost_usd.base, found.cost_usd.new, found.cost_usd.evals) == pytest.approx((0.1, 0.3, 1))
    assert found.cost_usd.low is None
    assert found.tokens is not None
    assert (found.tokens.base, found.tokens.new, found.tokens.low) == pytest.approx((25, 50, 25))
    assert found.turns is not None
    assert found.seconds is not None
    assert (found.turns.value, found.seconds.value) == pytest.approx((1, 2))


def test_a_lower_bound_is_not_compared() -> None:
    """If the cost of some attempts is unknown, the cost is not compared."""
    spent = Spent(cost_usd=1.0, turns=3, seconds=1)
    found = compare([night(0, spent=spent)], [night(1, spent=spent, unpriced=1)])
    assert found.cost_usd is None
    assert found.turns is not None


def test_large_samples_are_quick_and_nearly_the_same() -> None:
    """They use Fisher's test, which is slightly more conservative."""
    assert p_drop((900, 1000), (800, 1000)) < 1e-8
    assert smallest_detectable_drop((0, 10), 10) is None


def test_correlated_trials_of_a_run_are_weaker_evidence() -> None:
    """Ten trials of one night may share a bad hour; ten nights of one trial each can't."""
    sides = both((10, 0), (4, 6))
    independent, correlated = (compare(*sides, correlation=rho).evals[0] for rho in (0.0, 0.4))
    assert independent.outcome is CompareOutcome.REGRESSED
    assert correlated.outcome is not CompareOutcome.REGRESSED
    assert independent.p_value < correlated.p_value / 3 < 0.1
    apart = [[night(n, 1, 0) for n in range(10)], [night(n, n % 5 < 2, n % 5 >= 2) for n in range(10, 20)]]
    assert compare(*apart, correlation=0.4).evals[0].p_value == independent.p_value


def test_the_interval_of_the_mean_knows_correlated_trials() -> None:
    """With the same differences in every eval, only the counts say how uncertain the mean is."""
    sides = ([night(n, 9, 1, eval=f"e{i}") for i in range(20)] for n in (0, 1))
    base, new = (list(side) for side in sides)
    independent, correlated = (compare(base, new, correlation=rho).suite for rho in (0.0, 0.2))
    assert independent is not None
    assert correlated is not None
    assert independent.low is not None
    assert correlated.low is not None
    assert correlated.low < 1.5 * independent.low < 0
