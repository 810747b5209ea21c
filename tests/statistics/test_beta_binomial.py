from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from demeanor.statistics.beta_binomial import JEFFREYS, Prior, at_most, exactly


@given(
    judged=st.integers(1, 60),
    passed=st.integers(0, 60),
    a=st.floats(0.5, 200),
    b=st.floats(0.5, 200),
)
def test_it_agrees_with_scipy(judged: int, passed: int, a: float, b: float) -> None:
    """Point and lower tail."""
    passed = min(passed, judged)
    assert exactly(passed, judged, Prior(a, b)) == pytest.approx(stats.betabinom.pmf(passed, judged, a, b), abs=1e-10)
    assert at_most(passed, judged, Prior(a, b)) == pytest.approx(stats.betabinom.cdf(passed, judged, a, b), abs=1e-9)


def test_a_short_history_predicts_less() -> None:
    """Six of ten is a surprise after 60 of 60, and hardly one after 3 of 3."""
    after_long, after_short = (at_most(6, 10, JEFFREYS.after(n, 0)) for n in (60, 3))
    assert after_long < 0.001
    assert after_short > 0.05


def test_the_predictive_p_value_keeps_its_level() -> None:
    """On unchanged evals it is below 5 % in at most 5 % of all cases: past and present have the same unknown rate."""
    rng = random.Random(7)
    alarms = 0
    for _ in range(4000):
        rate = rng.betavariate(38, 2)
        past = sum(rng.random() < rate for _ in range(21))
        fresh = sum(rng.random() < rate for _ in range(10))
        alarms += at_most(fresh, 10, Prior(38, 2).after(past, 21 - past)) <= 0.05
    assert alarms / 4000 <= 0.05 + 0.01


def test_a_negative_number_of_trials_is_refused() -> None:
    """A wrong count is an error."""
    with pytest.raises(ValueError, match="judged=-1"):
        at_most(0, -1, JEFFREYS)
