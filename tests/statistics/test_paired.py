from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from demeanor.statistics.intervals import wilson
from demeanor.statistics.paired import clustered_mean, paired_difference, paired_rates, student_factor


def test_the_published_example() -> None:
    """Eight evals, one trial each: the difference is a quarter, its error 0.163663."""
    found = paired_difference([1, 1, 0, 1, 1, 0, 1, 1], [1, 0, 0, 1, 0, 0, 1, 1])
    assert found is not None
    assert (found.value, found.error) == (pytest.approx(-0.25), pytest.approx(0.163663, abs=1e-6))


@given(pairs=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30))
def test_it_agrees_with_scipy(pairs: list[tuple[float, float]]) -> None:
    """The interval of a paired t-test."""
    a, b = zip(*pairs, strict=True)
    differences = {round(y - x, 12) for x, y in pairs}
    if len(differences) == 1:
        return
    theirs = stats.ttest_rel(b, a).confidence_interval(0.95)
    found = paired_difference(a, b)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)


def test_equal_differences_do_not_give_an_interval_of_width_0() -> None:
    """With three of three everywhere, the true difference may still be some points."""
    same = [[(3, 3)]] * 20
    found = paired_rates(same, same)
    assert found is not None
    assert found.value == 0
    assert found.low < -0.005 < 0.005 < found.high


def test_subjects_are_averaged_within_their_eval() -> None:
    """An eval tried with six subjects weighs as much as one tried with one."""
    found = paired_rates([[(3, 3)] * 6, [(3, 3)]], [[(0, 3)] * 6, [(3, 3)]])
    assert found is not None
    assert (found.value, found.pairs) == (-0.5, 2)


@pytest.mark.parametrize(("evals", "trials", "drop"), [(30, 3, 0.0), (30, 3, 0.05), (50, 5, 0.1)])
def test_coverage(evals: int, trials: int, drop: float) -> None:
    """95 %, by simulation, on a suite with realistic rates."""
    rng, held = random.Random(17), 0
    for _ in range(400):
        rates = [rng.betavariate(38, 2) for _ in range(evals)]

        def seen(rate: float) -> list[tuple[int, int]]:
            return [(sum(rng.random() < rate for _ in range(trials)), trials)]

        found = paired_rates([seen(rate) for rate in rates], [seen(rate - drop) for rate in rates])
        assert found is not None
        held += found.low <= -drop <= found.high
    assert held / 400 >= 0.95 - 0.025


def test_one_eval_has_no_interval_and_uneven_sides_are_refused() -> None:
    """None, and an error."""
    assert paired_rates([[(3, 3)]], [[(2, 3)]]) is None
    assert paired_rates([], []) is None
    with pytest.raises(ValueError, match="must have the same length"):
        paired_difference([1], [1, 0])


@given(level=st.floats(0.5, 0.999), freedom=st.integers(1, 500))
def test_student_factor_agrees_with_scipy(level: float, freedom: int) -> None:
    """For any level and any number of pairs."""
    assert student_factor(level, freedom) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-6)


def test_student_factor_needs_a_degree_of_freedom() -> None:
    """A single number has no standard deviation."""
    with pytest.raises(ValueError, match="freedom=0"):
        student_factor(0.95, 0)


def test_interval_of_a_mean_over_cases_depends_on_the_cases():
    """Trials of one case are not new cases: a hundred trials of two cases that disagree say little about the next."""
    value, low, high = clustered_mean([(50, 50), (0, 50)])
    assert (value, low, high) == (0.5, 0.0, 1.0)
    value, low, high = clustered_mean([(3, 3)] * 10)
    assert value == 1.0
    assert (low, high) == wilson(30, 30)
    assert clustered_mean([(2, 3)]) == (2 / 3, *wilson(2, 3))


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=12))
def test_the_interval_over_cases_holds_the_mean(drawn: list[tuple[int, int]]):
    """It lies between 0 and 1, and does not depend on the order of the cases."""
    counts = [(min(passed, judged), judged) for passed, judged in drawn]
    value, low, high = clustered_mean(counts)
    assert 0 <= low <= value + 1e-12
    assert value - 1e-12 <= high <= 1
    assert clustered_mean(counts[::-1]) == pytest.approx((value, low, high))
